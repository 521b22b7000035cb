/* test-epoll-remote: sets whose files are all at another kernel, with waiters that race. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/open_files.h"
#include "tests/guest/harness/tap.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define LONG 60000 /* milliseconds: what comes at all comes sooner */
#define EDGES 20
#define ROUNDS 100
#define WAITERS 3
#define CROWD 100 /* files, so that a worker looks at them */
#define OWNERS 6
#define OWNED 900 /* files of each owner: more than one request asks about, in all */

static int set, files[2], ends[2];

static int change(int operation, int fd, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.fd = fd};

    return epoll_ctl(set, operation, fd, &event);
}

static bool is_reported(int fd)
{
    struct epoll_event event;

    return epoll_wait(set, &event, 1, LONG) == 1 && event.data.fd == fd;
}

/* Runs WATCH in a process that is at home on another kernel than our files: 0 or what went wrong. */
static void run_away(int (*watch)(void))
{
    int kernels[64], count = tap_kernels(kernels), here = thread_kernel(), status = -1;
    pid_t child;

    if (!CHECK(pipe(ends) == 0, "%s", strerror(errno)))
        return;
    for (int i = 0; i < 2; i++)
        files[i] = eventfd(0, EFD_NONBLOCK);
    CHECK(thread_move(kernels[count - 1] != here ? kernels[count - 1] : kernels[0]) == 0, "moved");
    child = fork();
    if (child == 0) {
        set = epoll_create1(0);
        _exit(watch());
    }
    CHECK(thread_move(here) == 0, "back");
    CHECK(waitpid(child, &status, 0) == child && status == 0, "%#x", status);
    for (int i = 0; i < 2; i++) {
        close(files[i]);
        close(ends[i]);
    }
}

/* Nobody finds these files not ready: a counter that is only added to, a pipe of which all is read at once. */
static int watch_edges(void)
{
    uint64_t one = 1;
    char bytes[64];

    if (change(EPOLL_CTL_ADD, files[0], EPOLLIN | EPOLLET) != 0)
        return 1;
    for (int i = 0; i < EDGES; i++) {
        if (write(files[0], &one, sizeof(one)) != sizeof(one) || !is_reported(files[0]))
            return 2;
    }
    if (change(EPOLL_CTL_DEL, files[0], 0) != 0 || change(EPOLL_CTL_ADD, ends[0], EPOLLIN | EPOLLET) != 0)
        return 3;
    for (int i = 0; i < EDGES; i++) {
        if (write(ends[1], "abc", 3) != 3 || !is_reported(ends[0]) || read(ends[0], bytes, sizeof(bytes)) != 3)
            return 4;
    }
    return 0;
}

static void test_edges(void)
{
    run_away(watch_edges);
}

/* True when a wait that cannot store the event is refused, and the next one tells it. */
static bool is_kept(int fd)
{
    struct epoll_event event;

    return epoll_wait(set, TAP_UNMAPPED, 1, LONG) == -1 && errno == EFAULT && is_reported(fd) &&
           epoll_wait(set, &event, 1, 0) == 0;
}

static int watch_unstored(void)
{
    if (change(EPOLL_CTL_ADD, files[0], EPOLLIN | EPOLLET) != 0 || epoll_wait(set, TAP_UNMAPPED, 1, 0) != 0)
        return 1;
    for (int i = 0; i < EDGES; i++) {
        if (eventfd_write(files[0], 1) != 0 || !is_kept(files[0]))
            return 2;
    }
    if (change(EPOLL_CTL_DEL, files[0], 0) != 0 || change(EPOLL_CTL_ADD, files[1], EPOLLIN | EPOLLONESHOT) != 0)
        return 3;
    for (int i = 0; i < EDGES; i++) {
        if (eventfd_write(files[1], 1) != 0 || !is_kept(files[1]))
            return 4;
        if (change(EPOLL_CTL_MOD, files[1], EPOLLIN | EPOLLONESHOT) != 0)
            return 5;
    }
    return 0;
}

static void test_unstored(void)
{
    run_away(watch_unstored);
}

static atomic_int reported, begun;

/* One event of each round. */
static void wait_rounds(struct thread *thread)
{
    struct epoll_event event;
    long result = 0;

    for (int i = 1; i <= ROUNDS && result == 0; i++) {
        if (x86_syscall(SYS_epoll_wait, set, (long)&event, 1, -1, 0, 0) != 1)
            result = -1;
        reported++;
        if (!thread_wait(&begun, i))
            result = -2;
    }
    thread->result = result;
}

/* What is ready stays so until all have had it reported. */
static int watch_together(void)
{
    struct thread waiters[WAITERS];
    uint64_t value = 1, random = 3;
    int problem = 0;

    if (change(EPOLL_CTL_ADD, files[0], EPOLLIN) != 0)
        return 1;
    for (int i = 0; i < WAITERS; i++) {
        waiters[i] = (struct thread){.index = i};
        if (!thread_start(&waiters[i], wait_rounds))
            return 2;
    }
    for (int i = 1; i <= ROUNDS && problem == 0; i++) {
        for (uint64_t turns = tap_random(&random) % 200; turns > 0; turns--)
            x86_pause();
        if (tap_random(&random) % 2 == 0 &&
            (change(EPOLL_CTL_ADD, files[1], EPOLLIN) != 0 || change(EPOLL_CTL_DEL, files[1], 0) != 0))
            problem = 3;
        if (write(files[0], &value, sizeof(value)) != sizeof(value))
            problem = 4;
        if (!thread_wait(&reported, WAITERS * i))
            problem = 5;
        if (read(files[0], &value, sizeof(value)) != sizeof(value))
            problem = 6;
        value = 1;
        begun = i;
    }
    for (int i = 0; i < WAITERS && problem == 0; i++) {
        if (!thread_join(&waiters[i]) || waiters[i].result != 0)
            problem = 7;
    }
    return problem;
}

static void test_together(void)
{
    run_away(watch_together);
}

/* Has OWNED files on its kernel, all in the set, which is on another; makes one of them ready for each byte of ORDERS,
 * and all for the last. */
static int own(int owner, int orders, int done)
{
    static int owned[OWNED];
    uint64_t one = 1;
    char byte;

    for (int i = 0; i < OWNED; i++) {
        struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.u64 = (uint64_t)(owner * OWNED + i)};

        owned[i] = eventfd(0, EFD_NONBLOCK);
        if (owned[i] < 0 || epoll_ctl(set, EPOLL_CTL_ADD, owned[i], &event) != 0)
            return 1;
    }
    for (bool all = false; !all;) {
        if (write(done, "d", 1) != 1 || read(orders, &byte, 1) != 1)
            return 2;
        all = byte == 'a';
        for (int i = 0; i < OWNED; i++) {
            if ((all || i == byte) && write(owned[i], &one, sizeof(one)) != sizeof(one))
                return 3;
        }
    }
    if (write(done, "d", 1) != 1 || read(orders, &byte, 1) != 0) /* until all is seen */
        return 4;
    return 0;
}

static bool await_owners(int done, int count)
{
    char byte;

    for (int i = 0; i < count; i++) {
        if (read(done, &byte, 1) != 1)
            return false;
    }
    return true;
}

/* The events that are there, each counted in SEEN; -1: one was reported twice. */
static int count_events(char *seen)
{
    static struct epoll_event events[1024];
    int count, sum = 0;

    while ((count = epoll_wait(set, events, 1024, 0)) > 0) {
        for (int i = 0; i < count; i++) {
            if (events[i].data.u64 >= OWNERS * OWNED || seen[events[i].data.u64]++ != 0)
                return -1;
        }
        sum += count;
    }
    return count < 0 ? -1 : sum;
}

static int home; /* the kernel of the files */

static int watch_many(void)
{
    static char seen[OWNERS * OWNED];
    int orders[OWNERS][2], done[2], here = thread_kernel();
    struct epoll_event event;

    if (pipe(done) != 0 || thread_move(home) != 0)
        return 1;
    for (int i = 0; i < OWNERS; i++) {
        if (pipe(orders[i]) != 0)
            return 2;
        if (fork() == 0) {
            for (int k = 0; k <= i; k++)
                close(orders[k][1]);
            _exit(own(i, orders[i][0], done[1]));
        }
        close(orders[i][0]);
        if (!await_owners(done[0], 1))
            return 3;
    }
    if (thread_move(here) != 0 || epoll_wait(set, &event, 1, 0) != 0)
        return 4;
    for (int i = 0; i < OWNERS; i++) {
        char byte = (char)(i + 1);

        if (write(orders[i][1], &byte, 1) != 1 || epoll_wait(set, &event, 1, LONG) != 1 ||
            event.data.u64 != (uint64_t)(i * OWNED + i + 1))
            return 5;
        seen[event.data.u64] = 1;
    }
    if (!await_owners(done[0], OWNERS))
        return 6;
    for (int i = 0; i < OWNERS; i++) {
        if (write(orders[i][1], "a", 1) != 1)
            return 7;
    }
    if (!await_owners(done[0], OWNERS) || count_events(seen) != OWNERS * OWNED - OWNERS)
        return 8;
    for (int i = 0; i < OWNERS; i++)
        close(orders[i][1]);
    for (int i = 0, status; i < OWNERS; i++) {
        if (wait(&status) <= 0 || status != 0)
            return 9;
    }
    return epoll_wait(set, &event, 1, 0) == 0 ? 0 : 10;
}

static void test_many(void)
{
    home = thread_kernel();
    run_away(watch_many);
}

static int crowd[CROWD];

/* A set here, of files there, is asked from a third kernel, or from theirs if there are only two. */
static int watch_third(void)
{
    int kernels[64], count = tap_kernels(kernels), here = thread_kernel(), third = home;
    struct epoll_event event;
    uint64_t one = 1;

    for (int i = 0; i < count; i++) {
        if (kernels[i] != here && kernels[i] != home)
            third = kernels[i];
    }
    for (int i = 0; i < CROWD; i++) {
        if (change(EPOLL_CTL_ADD, crowd[i], EPOLLIN | EPOLLET) != 0)
            return 1;
    }
    if (thread_move(third) != 0 || epoll_wait(set, &event, 1, 0) != 0)
        return 2;
    for (int i = 0; i < CROWD; i++) {
        if (write(crowd[i], &one, sizeof(one)) != sizeof(one) || !is_reported(crowd[i]))
            return 3;
    }
    return epoll_wait(set, &event, 1, 0) == 0 ? 0 : 4;
}

/* Also if each of the kernels has only the workers of its start. */
static void test_third(void)
{
    home = thread_kernel();
    for (int i = 0; i < CROWD; i++)
        crowd[i] = eventfd(0, EFD_NONBLOCK);
    if (tap_on_kettle())
        CHECK(kettle_control("workers=few") >= 0, "%s", strerror(errno));
    run_away(watch_third);
    if (tap_on_kettle())
        CHECK(kettle_control("workers=more") >= 0, "%s", strerror(errno));
    for (int i = 0; i < CROWD; i++)
        close(crowd[i]);
}

static const struct tap_test tests[] = {
    {"edges", "EPOLLET reports each event, though nobody has found the file not ready before", test_edges},
    {"unstored", "a wait that cannot store an event leaves it to the next", test_unstored},
    {"together", "a file that is ready is reported to all threads that wait, as long as it is ready", test_together},
    {"many", "a set has as many files of one kernel as there are, and each is reported", test_many},
    {"third", "a thread of a third kernel waits for a set of many files, also where there are few workers", test_third},
    {"open-files", "nothing is left open", open_files_test},
};

int main(int argc, char **argv)
{
    open_files_note();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
