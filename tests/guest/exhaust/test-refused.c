/* test-refused: calls of a user while a third of the kernels' allocations is refused (boot option alloc): each call is
 * done or says that there is no memory, and nothing is left behind. */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/exhaust/hog.h"
#include "tests/guest/harness/open_files.h"
#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/tap.h"
#include "userland/thread.h"

#define TURNS 300
#define KEPT 100 /* descriptors that are open at a time */

static struct {
    atomic_int refusing;     /* what the user wants: one allocation in so many is refused; 0: none */
    atomic_int refused;      /* what the kernels do */
    atomic_int counts[4][2]; /* of each change: refused, done */
} * shared;

static void refuse(int wanted)
{
    shared->refusing = wanted;
    while (shared->refused != wanted)
        sched_yield();
}

/* Has a child run USER, and allocations refused as it wants. */
static void serve(int (*user)(void *))
{
    pid_t child;
    int status = 0;

    shared = tap_share(sizeof(*shared));
    child = FORK();
    if (child == 0)
        _exit(user(NULL));
    while (waitpid(child, &status, WNOHANG) == 0) {
        int wanted = shared->refusing;

        if (wanted != shared->refused) {
            char words[16];

            snprintf(words, sizeof(words), "alloc=%d", wanted);
            MUST(kettle_control(words));
            shared->refused = wanted;
        }
        sched_yield();
    }
    MUST(kettle_control("alloc=0"));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", (unsigned)status);
}

/* --- descriptors --- */

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
    refuse(3);
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
    refuse(0);
    return 0;
}

static void test_descriptors(void)
{
    serve(make_all);
}

/* The kernels have no memory at all, but for what nobody can do without: root ends that, from each of them. */
static void test_all(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        MUST(kettle_control("alloc=1"));
        MUST(kettle_control("alloc=0"));
    }
    kernels_go(0);
}

/* --- changes of memory: what is refused has changed nothing, on any kernel --- */

#define PAGE 4096l
#define REGION 8 /* pages */
#define CHANGED 3
#define ROUNDS 40
#define AREAS 200 /* more than are changed without a pause */

/* 0: PAGE_AT cannot be read; 1: it can; 2: it can be written, too. */
static int rights_of(int *pipe_ends, char *page_at)
{
    char byte;

    if (write(pipe_ends[1], page_at, 1) != 1)
        return 0;
    return read(pipe_ends[0], page_at, 1) == 1 ? 2 : (MUST(read(pipe_ends[0], &byte, 1)), 1);
}

static long change(int what, char *region, char *other)
{
    char *at = region + CHANGED * PAGE;

    if (what == 0)
        return munmap(at, PAGE);
    if (what == 1)
        return mprotect(at, PAGE, PROT_READ);
    return mremap(at, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, other) == other ? 0 : -1;
}

/* Changes a page of a region that all kernels know, from kernel TURN. */
static void change_once(int what, int turn, int *pipe_ends)
{
    static const int changed[] = {0, 1, 0};
    char *region = mmap(NULL, REGION * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *other = mmap(NULL, REGION * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int done, error;

    REQUIRE(region != MAP_FAILED && other != MAP_FAILED, "%s", tap_error(errno));
    MUST(munmap(other, REGION * PAGE));
    for (int i = 0; i < REGION; i++)
        region[i * PAGE] = (char)(i + 1);
    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        for (int i = 0; i < REGION; i++)
            CHECK(region[i * PAGE] == i + 1, "page %d has %d", i, region[i * PAGE]);
    }
    kernels_go(turn);
    refuse(what == 2 ? 12 : 2); /* a move needs more memory, and is done if all of it is there */
    done = change(what, region, other) == 0;
    error = errno;
    refuse(0);
    CHECK(done || error == ENOMEM, "change %d: %s", what, tap_error(error));
    atomic_fetch_add(&shared->counts[what][done], 1);
    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(turn + k);
        for (int i = 0; i < REGION; i++) {
            int rights = rights_of(pipe_ends, region + i * PAGE), wanted = done && i == CHANGED ? changed[what] : 2;

            CHECK(rights == wanted, "change %d from kernel %d, %s: kernel %d has rights %d of page %d", what, turn,
                  done ? "done" : "refused", turn + k, rights, i);
            CHECK(rights == 0 || region[i * PAGE] == i + 1, "page %d has %d", i, region[i * PAGE]);
        }
        if (what == 2)
            CHECK(rights_of(pipe_ends, other) == (done ? 2 : 0), "the new place, %s", done ? "done" : "refused");
    }
    MUST(munmap(region, REGION * PAGE));
    MUST(munmap(other, REGION * PAGE));
}

static int change_all(void *context)
{
    int pipe_ends[2];

    (void)context;
    hog_become_user();
    MUST(pipe2(pipe_ends, O_NONBLOCK));
    for (int round = 0; round < ROUNDS; round++) {
        for (int what = 0; what < 3; what++)
            change_once(what, round, pipe_ends);
    }
    return 0;
}

static void count(int what)
{
    CHECK(shared->counts[what][0] > 0 && shared->counts[what][1] > 0, "change %d was refused %d times and done %d",
          what, shared->counts[what][0], shared->counts[what][1]);
    tap_note("change %d was refused %d times and done %d times", what, shared->counts[what][0],
             shared->counts[what][1]);
}

static void test_changes(void)
{
    serve(change_all);
    for (int what = 0; what < 3; what++)
        count(what);
}

/* Whether what is mapped from now on is locked. */
static bool later_is_locked(void)
{
    char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool locked;

    REQUIRE(page != MAP_FAILED, "%s", tap_error(errno));
    locked = madvise(page, PAGE, MADV_DONTNEED) != 0;
    MUST(munmap(page, PAGE));
    return locked;
}

static int lock_all(void *context)
{
    const struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
    char *areas = mmap(NULL, AREAS * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)context;
    for (int i = 0; i < AREAS; i += 2)
        MUST(mprotect(areas + i * PAGE, PAGE, PROT_NONE));
    MUST(setrlimit(RLIMIT_MEMLOCK, &unlimited));
    hog_become_user();
    for (int round = 0; round < ROUNDS; round++) {
        int done, error;

        kernels_go(round);
        refuse(2);
        done = mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
        error = errno;
        refuse(0);
        CHECK(done || error == ENOMEM || error == EAGAIN, "mlockall: %s", tap_error(error));
        CHECK(later_is_locked() == done, "round %d: mlockall was %s", round, done ? "done" : "refused");
        atomic_fetch_add(&shared->counts[3][done], 1);
        MUST(munlockall());
    }
    return 0;
}

static void test_lock_all(void)
{
    serve(lock_all);
    count(3);
}

/* --- forks --- */

#define FORKS 30
#define FORKED 300l /* pages: what a kernel has leased of them is reported in several parts */

/* In the child of a fork: whether it has what kernel 1 has written. */
static _Noreturn void see_all(const volatile char *own, const volatile char *common)
{
    for (long i = 0; i < FORKED; i++) {
        if (own[i * PAGE] != (char)i)
            _exit(1);
    }
    _exit(*common == 'c' ? 0 : 2);
}

/* Forks from the process's home while one of 2 to 11 of the kernels' allocations is refused. The parent's memory is
 * leased to another kernel, and the fork needs it back, because some is shared. Whether it is made or not, the next one
 * is, with memory, and has all; and so it is when the other kernel stops first. */
static void test_forks(void)
{
    int refused = 0, status;

    if (tap_skip_alone())
        return;
    for (int round = 0; round < FORKS; round++) {
        char *own, *common, words[16];
        pid_t child;
        int other;

        kernels_go(1);
        other = thread_kernel();
        own = mmap(NULL, FORKED * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        common = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        REQUIRE(own != MAP_FAILED && common != MAP_FAILED, "%s", tap_error(errno));
        for (long i = 0; i < FORKED; i++)
            own[i * PAGE] = (char)i;
        *common = 'c';
        kernels_go(0);
        snprintf(words, sizeof(words), "alloc=%d", 2 + round % 10);
        MUST(kettle_control(words));
        child = fork();
        if (child == 0)
            see_all(own, common);
        CHECK(child > 0 || errno == ENOMEM || errno == EAGAIN, "fork: %s", tap_error(errno));
        MUST(kettle_control("alloc=0"));
        refused += child < 0;
        if (child > 0)
            MUST(waitpid(child, &status, 0)); /* it may have found no memory for its first faults */
        if (round % 4 == 3) {
            MUST(kettle_stop(other));
            MUST(kettle_start(other));
        }
        child = FORK();
        if (child == 0)
            see_all(own, common);
        CHECK_EXITS(child, 0);
        MUST(munmap(own, FORKED * PAGE));
        MUST(munmap(common, PAGE));
    }
    CHECK(refused > 0, "no fork was refused");
    tap_note("%d of %d forks were refused", refused, FORKS);
}

/* --- workers --- */

#define ENDS 40 /* of processes at home on each of two kernels: many more than have a worker there without memory */

static atomic_int *ready;

/* On the other kernel, which has memory of the process from now on. */
static void stay_there(struct thread *thread)
{
    static volatile char pages[4 * PAGE];

    (void)thread;
    kernels_go(atomic_load(&ready[1]));
    for (size_t i = 0; i < sizeof(pages); i += PAGE)
        pages[i] = 1;
    atomic_fetch_add(&ready[0], 1);
    for (;;)
        pause();
}

static int stay_on_both(void)
{
    static struct thread thread;

    hog_become_user();
    REQUIRE(thread_start(&thread, stay_there), "no thread");
    for (;;)
        pause();
}

/* A worker of its home ends each process, and waits for a worker of the other kernel to free what that has of it. */
static void test_workers(void)
{
    pid_t children[2 * ENDS];
    int status;

    if (tap_skip_alone())
        return;
    ready = tap_share(2 * sizeof(*ready));
    for (int i = 0; i < 2 * ENDS; i++) {
        kernels_go(i / ENDS);
        atomic_store(&ready[1], 1 - i / ENDS);
        children[i] = FORK();
        if (children[i] == 0)
            _exit(stay_on_both());
        UNTIL(atomic_load(&ready[0]) == i + 1, "a thread on each kernel");
    }
    kernels_go(0);
    MUST(kettle_control("workers=few"));
    for (int i = 0; i < 2 * ENDS; i++)
        MUST(kill(children[i / 2 + i % 2 * ENDS], SIGKILL));
    for (int i = 0; i < 2 * ENDS; i++) {
        MUST(waitpid(children[i], &status, 0));
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "%x", (unsigned)status);
    }
    MUST(kettle_control("workers=more"));
}

/* --- a call that waits for memory --- */

#define HUGE (2l << 20) /* what a page table maps */
#define LOOKS 8

struct packet {
    char byte;
    struct iovec part;
    struct msghdr message;
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
};

static void make_packet(struct packet *packet)
{
    memset(packet, 0, sizeof(*packet));
    packet->part = (struct iovec){&packet->byte, 1};
    packet->message = (struct msghdr){.msg_iov = &packet->part,
                                      .msg_iovlen = 1,
                                      .msg_control = packet->control.bytes,
                                      .msg_controllen = sizeof(packet->control)};
}

/* Receives an open file, and before it the sender's credentials, to where there is no page table yet: so the call waits
 * for memory with the file in hand. The place of the byte is looked at before the message is taken. */
static void receive_late(int socket)
{
    const int on = 1;
    char *region = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct packet packet;

    REQUIRE(region != MAP_FAILED, "%s", tap_error(errno));
    MUST(madvise(region, 2 * HUGE, MADV_NOHUGEPAGE));
    MUST(setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)));
    hog_become_user();
    make_packet(&packet);
    packet.message.msg_control = (void *)(((uintptr_t)region + HUGE - 1) / HUGE * HUGE);
    packet.message.msg_controllen = CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int));
    recvmsg(socket, &packet.message, 0); /* or EFAULT, when there was no memory for too long */
    _exit(5);
}

/* Whether PROCESS, which nobody has waited for, has ended, or a thread of it waits for memory: *WAITS. */
static bool waits_for_memory(pid_t process, bool *waits)
{
    char path[64], line[256];
    bool ended = false;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/kettle", process);
    file = fopen(path, "r");
    *waits = false;
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        *waits |= strncmp(line, "thread ", 7) == 0 && strstr(line, " memory\n") != NULL;
        ended |= strncmp(line, "home ", 5) == 0 && strstr(line, " ended ") != NULL;
    }
    if (file != NULL)
        fclose(file);
    return *waits || ended;
}

static void send_file(int socket, int fd)
{
    struct packet packet;

    make_packet(&packet);
    packet.control.head = (struct cmsghdr){CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&packet.control.head), &fd, sizeof(fd));
    MUST(sendmsg(socket, &packet.message, 0));
}

/* An audit waits until the call has the file in a table, or has given it back. All is on kernel 0, which alone refuses,
 * so that the call gets as far as its control data. */
static void test_in_hand(void)
{
    static char report[16384];
    int held = 0;

    kernels_go(0);
    for (int look = 0; look < LOOKS; look++) {
        int ends[2], files[2], violations;
        bool waits;
        pid_t child;

        MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
        MUST(pipe(files));
        child = FORK();
        if (child == 0)
            receive_late(ends[1]);
        UNTIL(tap_sleeps(child, child), "a receiver to wait");
        MUST(kettle_control("kernel=0 alloc=1"));
        send_file(ends[0], files[0]);
        close(files[0]);
        UNTIL(waits_for_memory(child, &waits), "a receiver to wait for memory");
        held += waits;
        MUST(kettle_control("alloc=0")); /* the call finds that out some milliseconds later */
        violations = kettle_audit(KETTLE_AUDIT_MACHINE, report, sizeof(report));
        CHECK(violations == 0, "%d: %s", violations, violations < 0 ? tap_error(errno) : report);
        CHECK_EXITS(child, 5);
        close(files[1]);
        close(ends[0]);
        close(ends[1]);
    }
    CHECK(held > 0, "no receiver has waited for memory");
}

static const struct tap_test tests[] = {
    {"descriptors", "what makes a descriptor makes it, or finds no memory", test_descriptors},
    {"all", "while every allocation is refused, root can end that from each kernel", test_all},
    {"changes", "a change of memory is made on all kernels, or refused and made on none", test_changes},
    {"lock-all", "mlockall that finds no memory does not lock what is mapped later", test_lock_all},
    {"forks", "a fork that finds no memory leaves the next one everything, on all kernels", test_forks},
    {"workers", "kernels whose workers wait for each other's go on without memory for more of them", test_workers},
    {"in-hand", "a file that a call has in hand while it waits for memory is accounted for", test_in_hand},
    {"files", "no open file is left", open_files_test},
};

int main(int argc, char **argv)
{
    kernels_find();
    open_files_note();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
