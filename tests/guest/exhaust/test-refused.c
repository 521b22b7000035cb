/* test-refused: calls of a user while a third of the kernels' allocations is refused (boot option alloc): each call is
 * done or says that there is no memory, and nothing is left behind. */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/exhaust/hog.h"
#include "tests/guest/harness/open_files.h"
#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/tap.h"

#define TURNS 300
#define KEPT 100 /* descriptors that are open at a time */

static int make_epoll(void)
{
    return epoll_create1(0);
}

static int make_timer(void)
{
    return timerfd_create(CLOCK_MONOTONIC, 0);
}

static int make_event(void)
{
    return eventfd(3, 0);
}

static int make_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    return signalfd(-1, &set, 0);
}

static int make_inotify(void)
{
    return inotify_init1(0);
}

static int make_memory(void)
{
    return memfd_create("refused", 0);
}

static int make_socket(void)
{
    return socket(AF_UNIX, SOCK_DGRAM, 0);
}

static int make_pair(void)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return -1;
    close(ends[1]);
    return ends[0];
}

static int make_pipe(void)
{
    int ends[2];

    if (pipe(ends) != 0)
        return -1;
    close(ends[1]);
    return ends[0];
}

static int make_process(void)
{
    return (int)syscall(SYS_pidfd_open, getpid(), 0);
}

static int make_terminal(void)
{
    return open("/dev/ptmx", O_RDWR | O_NOCTTY);
}

static int make_file(void)
{
    return open("/tmp/refused", O_RDWR | O_CREAT, 0600);
}

static int make_facts(void)
{
    return open("/proc/self/maps", O_RDONLY);
}

static int make_list(void)
{
    return open("/", O_RDONLY | O_DIRECTORY);
}

static int make_copy(void)
{
    return dup(0);
}

static int make_queue(void)
{
    return mq_open("/refused", O_RDWR | O_CREAT, 0600, NULL);
}

static const struct {
    const char *name;
    int (*make)(void); /* a descriptor, or -1 with errno */
    int also;          /* another errno for a lack of memory; or 0 */
} makers[] = {
    {"epoll", make_epoll, 0},
    {"timer", make_timer, 0},
    {"event", make_event, 0},
    {"signals", make_signals, 0},
    {"inotify", make_inotify, 0},
    {"memory", make_memory, 0},
    {"socket", make_socket, 0},
    {"pair", make_pair, 0},
    {"pipe", make_pipe, 0},
    {"process", make_process, 0},
    {"terminal", make_terminal, ENOSPC},
    {"file", make_file, ENOSPC},
    {"facts", make_facts, ENOENT},
    {"list", make_list, 0},
    {"copy", make_copy, 0},
    {"queue", make_queue, 0},
};

static int make_all(void *context)
{
    int kept[KEPT]; /* so that objects share frames with others of their size */
    unsigned made = 0;

    (void)context;
    for (int i = 0; i < KEPT; i++)
        kept[i] = -1;
    hog_become_user();
    for (int turn = 0; turn < TURNS; turn++) {
        for (size_t i = 0; i < TAP_COUNT(makers); i++) {
            int fd = makers[i].make();

            CHECK(fd >= 0 || errno == ENOMEM || errno == ENFILE || errno == makers[i].also, "%s: %s", makers[i].name,
                  tap_error(errno));
            if (fd < 0)
                continue;
            close(kept[made % KEPT]);
            kept[made++ % KEPT] = fd;
        }
        kernels_go(turn);
    }
    return 0;
}

static void test_descriptors(void)
{
    int end;

    MUST(kettle_control("alloc=3"));
    end = tap_fork(make_all, NULL);
    MUST(kettle_control("alloc=0"));
    CHECK(end == 0, "%d", end);
}

static const struct tap_test tests[] = {
    {"descriptors", "what makes a descriptor makes it, or finds no memory", test_descriptors},
    {"files", "no open file is left", open_files_test},
};

int main(int argc, char **argv)
{
    kernels_find();
    open_files_note();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
