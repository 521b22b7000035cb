/* test-inotify: what inotify(7) tells, whichever kernel watches and whichever changes. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/directory.h"
#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/tap.h"

static int fd;

/* The next event is MASK of WATCH, with NAME. Returns its cookie. */
static unsigned next_is(int watch, unsigned mask, const char *name)
{
    union {
        struct inotify_event event;
        char bytes[sizeof(struct inotify_event) + 16];
    } got;
    ssize_t count = read(fd, &got, sizeof(got.event) + (*name != '\0' ? 16 : 0)); /* room for one */

    if (!CHECK(count >= (ssize_t)sizeof(got.event), "%x of %s: %s", mask, name, strerror(errno)))
        return 0;
    CHECK(got.event.wd == watch && got.event.mask == mask, "%x of %d, not %x of %d", got.event.mask, got.event.wd, mask,
          watch);
    CHECK(strcmp(got.event.len > 0 ? got.bytes + sizeof(got.event) : "", name) == 0, "not of '%s'", name);
    CHECK(got.event.len == (*name != '\0' ? 16 : 0), "%u", got.event.len);
    return got.event.cookie;
}

static void none_is_left(void)
{
    char byte[64];

    CHECK_ERROR(read(fd, byte, sizeof(byte)), EAGAIN);
}

static void put(const char *name, const char *text)
{
    int file = open(name, O_CREAT | O_TRUNC | O_WRONLY, 0600);

    CHECK(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text) && close(file) == 0, "%s",
          strerror(errno));
}

static void test_directory(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        unsigned cookie;
        int watch;

        kernels_go(k);
        fd = inotify_init1(IN_NONBLOCK);
        watch = inotify_add_watch(fd, ".", IN_ALL_EVENTS);
        CHECK(fd >= 0 && watch == 1, "%s", strerror(errno));
        CHECK(inotify_add_watch(fd, directory_path, IN_ALL_EVENTS) == watch, "one for each");
        kernels_go(k + 1);
        put("a", "text");
        CHECK(mkdir("sub", 0700) == 0 && rename("a", "sub/b") == 0 && rename("sub/b", "c") == 0, "%s", strerror(errno));
        CHECK(chmod("c", 0640) == 0 && link("c", "d") == 0 && unlink("d") == 0 && unlink("c") == 0, "%s",
              strerror(errno));
        CHECK(rmdir("sub") == 0, "%s", strerror(errno));
        kernels_go(k);
        next_is(watch, IN_CREATE, "a");
        next_is(watch, IN_OPEN, "a");
        next_is(watch, IN_MODIFY, "a");
        next_is(watch, IN_CLOSE_WRITE, "a");
        next_is(watch, IN_CREATE | IN_ISDIR, "sub");
        CHECK(next_is(watch, IN_MOVED_FROM, "a") != 0, "a cookie");
        cookie = next_is(watch, IN_MOVED_TO, "c");
        CHECK(cookie != 0, "another");
        next_is(watch, IN_ATTRIB, "c");
        next_is(watch, IN_CREATE, "d");
        next_is(watch, IN_DELETE, "d");
        next_is(watch, IN_DELETE, "c");
        next_is(watch, IN_DELETE | IN_ISDIR, "sub");
        none_is_left();
        CHECK(inotify_rm_watch(fd, watch) == 0, "%s", strerror(errno));
        next_is(watch, IN_IGNORED, "");
        CHECK_ERROR(inotify_rm_watch(fd, watch), EINVAL);
        put("e", "");
        CHECK(unlink("e") == 0, "%s", strerror(errno));
        none_is_left();
        CHECK(close(fd) == 0, "%s", strerror(errno));
    }
}

static void test_file(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        int watch, file;
        char byte;

        kernels_go(k);
        put("f", "text");
        fd = inotify_init1(IN_NONBLOCK);
        watch = inotify_add_watch(fd, "f", IN_ALL_EVENTS);
        file = open("f", O_RDONLY);
        CHECK(read(file, &byte, 1) == 1 && close(file) == 0, "%s", strerror(errno));
        CHECK(truncate("f", 2) == 0, "%s", strerror(errno));
        CHECK(rename("f", "g") == 0 && unlink("g") == 0, "%s", strerror(errno));
        next_is(watch, IN_OPEN, "");
        next_is(watch, IN_ACCESS, "");
        next_is(watch, IN_CLOSE_NOWRITE, "");
        next_is(watch, IN_MODIFY, "");
        next_is(watch, IN_MOVE_SELF, "");
        next_is(watch, IN_ATTRIB, "");
        next_is(watch, IN_DELETE_SELF, "");
        next_is(watch, IN_IGNORED, "");
        none_is_left();
        close(fd);
    }
}

static void test_masks(void)
{
    int watch;

    put("f", "");
    fd = inotify_init1(IN_NONBLOCK);
    watch = inotify_add_watch(fd, "f", IN_OPEN);
    CHECK_ERROR(inotify_add_watch(fd, "f", IN_MODIFY | IN_MASK_CREATE), EEXIST);
    CHECK(inotify_add_watch(fd, "f", IN_CLOSE_WRITE | IN_MASK_ADD) == watch, "%s", strerror(errno));
    put("f", "");
    next_is(watch, IN_OPEN, "");
    next_is(watch, IN_CLOSE_WRITE, "");
    CHECK(inotify_add_watch(fd, "f", IN_CLOSE_WRITE | IN_ONESHOT) == watch, "%s", strerror(errno));
    put("f", "");
    put("f", "");
    next_is(watch, IN_CLOSE_WRITE, "");
    next_is(watch, IN_IGNORED, "");
    none_is_left();
    CHECK(inotify_add_watch(fd, "f", IN_OPEN) == 2, "a number is not used again");
    CHECK_ERROR(inotify_add_watch(fd, "f", 0), EINVAL);
    CHECK_ERROR(inotify_add_watch(fd, "f", IN_OPEN | 0x08000000), EINVAL);
    CHECK_ERROR(inotify_add_watch(fd, "none", IN_OPEN), ENOENT);
    CHECK_ERROR(inotify_add_watch(fd, "f", IN_OPEN | IN_ONLYDIR), ENOTDIR);
    CHECK_ERROR(inotify_add_watch(0, "f", IN_OPEN), EINVAL);
    CHECK_ERROR(inotify_add_watch(99, "f", IN_OPEN), EBADF);
    CHECK_ERROR(inotify_init1(1), EINVAL);
    close(fd);
    CHECK(unlink("f") == 0, "%s", strerror(errno));
    fd = inotify_init1(IN_NONBLOCK);
    CHECK(mkdir("x", 0700) == 0 && (watch = inotify_add_watch(fd, "x", IN_ALL_EVENTS)) == 1, "%s", strerror(errno));
    CHECK(rename("x", "y") == 0 && chmod("y", 0755) == 0 && rmdir("y") == 0, "%s", strerror(errno));
    next_is(watch, IN_MOVE_SELF, ""); /* not IN_ISDIR */
    next_is(watch, IN_ATTRIB | IN_ISDIR, "");
    next_is(watch, IN_DELETE_SELF, "");
    next_is(watch, IN_IGNORED, "");
    close(fd);
}

/* Another process, on another kernel, makes what the reader waits for. */
static void test_waits(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        struct pollfd poller = {.events = POLLIN};
        int watch, status;
        pid_t child;

        fd = inotify_init();
        poller.fd = fd;
        watch = inotify_add_watch(fd, ".", IN_CREATE | IN_DELETE);
        child = fork();
        if (child == 0) {
            kernels_go(k);
            _exit(mkdir("made", 0700) == 0 && rmdir("made") == 0 ? 0 : 1);
        }
        kernels_go(k + 1);
        if (k % 2 == 0)
            CHECK(poll(&poller, 1, -1) == 1 && poller.revents == POLLIN, "%x", poller.revents);
        next_is(watch, IN_CREATE | IN_ISDIR, "made");
        next_is(watch, IN_DELETE | IN_ISDIR, "made");
        CHECK(waitpid(child, &status, 0) == child && status == 0, "status %x", status);
        close(fd);
    }
}

/* The news that takes the last watch away wakes as any other. */
static void test_last(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        struct pollfd poller = {.events = POLLIN};
        int watch, status;
        pid_t child;

        fd = inotify_init();
        poller.fd = fd;
        watch = inotify_add_watch(fd, ".", IN_CREATE | IN_ONESHOT);
        child = fork();
        if (child == 0) {
            kernels_go(k);
            UNTIL(tap_sleeps(getppid(), getppid()), "the parent to wait for an event");
            _exit(mkdir("made", 0700) == 0 ? 0 : 1);
        }
        kernels_go(k + 1);
        if (CHECK(poll(&poller, 1, 20000) == 1 && poller.revents == POLLIN, "%x", poller.revents)) {
            next_is(watch, IN_CREATE | IN_ISDIR, "made");
            next_is(watch, IN_IGNORED, "");
        }
        CHECK(waitpid(child, &status, 0) == child && status == 0, "status %x", status);
        CHECK(close(fd) == 0 && rmdir("made") == 0, "%s", strerror(errno));
    }
}

/* The queue is bounded, and says so. */
static void test_overflow(void)
{
    char bytes[32 * 1024];
    unsigned events = 0, last = 0;
    ssize_t count;

    fd = inotify_init1(IN_NONBLOCK);
    CHECK(inotify_add_watch(fd, ".", IN_CREATE | IN_DELETE) == 1, "%s", strerror(errno));
    for (int i = 0; i < 8200; i++)
        CHECK(mkdir("x", 0700) == 0 && rmdir("x") == 0, "%s", strerror(errno));
    while ((count = read(fd, bytes, sizeof(bytes))) > 0) {
        for (char *at = bytes; at < bytes + count; events++) {
            const struct inotify_event *event = (struct inotify_event *)at;

            last = event->mask;
            at += sizeof(*event) + event->len;
        }
    }
    CHECK(events == 16385 && last == IN_Q_OVERFLOW, "%u, the last is %x", events, last);
    close(fd);
}

static const struct tap_test tests[] = {
    {"directory", "a watch of a directory reports what happens to the names in it, in order", test_directory},
    {"file", "a watch of a file reports what happens to the file until it is gone", test_file},
    {"masks", "masks are replaced, extended with IN_MASK_ADD, and used once with IN_ONESHOT", test_masks},
    {"waits", "an event on one kernel wakes a reader on another", test_waits},
    {"last", "the event that ends the last watch wakes its reader, too", test_last},
    {"overflow", "a full queue reports IN_Q_OVERFLOW", test_overflow},
};

int main(int argc, char **argv)
{
    kernels_find();
    return directory_run(argc, argv, tests, TAP_COUNT(tests), 0700);
}
