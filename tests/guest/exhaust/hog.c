/* Taking memory from the kernels as a user may. See the header. */
#include "tests/guest/exhaust/hog.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/guest/harness/tap.h"
#include "userland/thread.h"

#define PAGE 4096ul
#define DIRECTORY "/tmp/hog"
#define NAME_ROOM 200
#define NAME_FILL 150 /* characters that make each name long */
#define PIPE_SIZE (1 << 20)
#define REGION (1ul << 32)
#define LEAF (1ul << 21) /* what one page table maps */
#define FLIGHTS 64       /* descriptors in a message */

void hog_become_user(void)
{
    MUST(setresgid(HOG_USER, HOG_USER, HOG_USER));
    MUST(setresuid(HOG_USER, HOG_USER, HOG_USER));
}

long hog_pipes(void)
{
    static char bytes[65536];
    long made = 0;
    int ends[2];

    while (pipe2(ends, O_NONBLOCK) == 0) {
        made++;
        fcntl(ends[1], F_SETPIPE_SZ, PIPE_SIZE); /* refused: it stays small, and is filled all the same */
        while (write(ends[1], bytes, sizeof(bytes)) > 0)
            continue;
        if (errno != EAGAIN)
            break;
    }
    return made;
}

static char *reserve(void)
{
    return mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

long hog_protections(void)
{
    char *region = reserve();
    long changed = 0;

    if (region == MAP_FAILED)
        return 0;
    for (uint64_t at = PAGE; at < REGION; at += 2 * PAGE, changed++) {
        if (mprotect(region + at, PAGE, PROT_READ) != 0)
            break;
    }
    return changed;
}

static long write_each(uint64_t step)
{
    char *region = reserve();
    long written = 0;

    for (uint64_t at = 0; region != MAP_FAILED && at < REGION; at += step, written++)
        *(volatile char *)(region + at) = 1;
    return written;
}

long hog_pages(void)
{
    return write_each(PAGE);
}

long hog_tables(void)
{
    long written = 0;

    for (;;) { /* no large pages */
        char *region = mmap(NULL, REGION, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (region == MAP_FAILED)
            return written;
        for (uint64_t at = 0; at < REGION; at += LEAF, written++)
            (void)*(volatile char *)(region + at); /* the zero page: only the table costs memory */
    }
}

long hog_processes(void)
{
    pid_t parent = getpid();
    long made = 0;

    for (;; made++) {
        pid_t child = fork();

        if (child < 0)
            return made;
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            while (getppid() == parent)
                pause();
            _exit(0);
        }
    }
}

static void wait_for_ever(struct thread *thread)
{
    (void)thread;
    for (;;)
        pause();
}

long hog_threads(void)
{
    long made = 0;

    for (;; made++) {
        struct thread *thread = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (thread == MAP_FAILED || !thread_start(thread, wait_for_ever))
            return made;
    }
}

long hog_signals(void)
{
    sigset_t all;
    long sent = 0;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    for (;; sent++) { /* in turn to all queues that there are */
        if (sigqueue(getpid(), SIGRTMIN + 3, (union sigval){.sival_int = 1}) != 0)
            break;
    }
    return sent;
}

long hog_timers(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_NONE};
    timer_t timer;
    long made = 0;

    while (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
        made++;
    return made;
}

long hog_sockets(void)
{
    static char bytes[65536];
    long made = 0;
    int ends[2];

    while (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0) {
        for (int end = 0; end < 2; end++) {
            while (write(ends[end], bytes, sizeof(bytes)) > 0)
                made++;
            if (errno != EAGAIN)
                return made;
        }
    }
    return made;
}

long hog_flying(void)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(FLIGHTS * sizeof(int))];
    } control = {
        .header = {.cmsg_len = CMSG_LEN(FLIGHTS * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    char byte = 'x';
    struct iovec vector = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    int fds[FLIGHTS], ends[2];
    long sent = 0;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return 0;
    for (int i = 0; i < FLIGHTS; i++)
        fds[i] = ends[i % 2];
    memcpy(CMSG_DATA(&control.header), fds, sizeof(fds));
    while (sendmsg(ends[0], &message, MSG_DONTWAIT) == 1)
        sent += FLIGHTS;
    return sent;
}

long hog_polls(void)
{
    struct epoll_event event = {.events = EPOLLIN};
    long made = 0;
    int ends[2];

    if (pipe(ends) != 0)
        return 0;
    for (;;) {
        int set = epoll_create1(0);

        if (set < 0)
            return made;
        for (int end = 0; end < 2; end++)
            made += epoll_ctl(set, EPOLL_CTL_ADD, ends[end], &event) == 0;
    }
}

long hog_mappings(void)
{
    long made = 0;

    while (mmap(NULL, PAGE, made % 2 == 0 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
        made++;
    return made;
}

long hog_file(void)
{
    static char bytes[65536];
    int fd = memfd_create("hog", 0);
    long made = 0;

    while (fd >= 0 && write(fd, bytes, sizeof(bytes)) > 0)
        made += sizeof(bytes) / PAGE;
    return made;
}

static void name_of(char *name, long number)
{
    int length = snprintf(name, NAME_ROOM, DIRECTORY "/%ld-", number);

    memset(name + length, 'n', NAME_FILL);
    name[length + NAME_FILL] = 0;
}

long hog_names(long from)
{
    char name[NAME_ROOM];
    long made = 0;

    for (;; made++) {
        name_of(name, from + made);
        if (link(DIRECTORY "/file", name) != 0)
            return made;
    }
}

void hog_names_begin(void)
{
    int fd;

    MUST(mkdir(DIRECTORY, 0777));
    MUST(chown(DIRECTORY, HOG_USER, HOG_USER));
    fd = (int)MUST(open(DIRECTORY "/file", O_CREAT | O_RDWR, 0666));
    MUST(fchown(fd, HOG_USER, HOG_USER));
    close(fd);
}

void hog_names_end(void)
{
    char name[NAME_ROOM];

    for (long number = 0;; number++) {
        name_of(name, number);
        if (unlink(name) != 0)
            break;
    }
    MUST(unlink(DIRECTORY "/file"));
    MUST(rmdir(DIRECTORY));
}

const char *hog_refused = "";

static bool refused(const char *call)
{
    hog_refused = call;
    return false;
}

bool hog_root_works(void)
{
    char byte = 0;
    int ends[2];
    int status = 0;
    pid_t child;

    errno = 0;
    if (mkdir("/tmp/hog-root", 0700) != 0)
        return refused("mkdir");
    if (rmdir("/tmp/hog-root") != 0)
        return refused("rmdir");
    if (pipe(ends) != 0)
        return refused("pipe");
    child = fork();
    if (child == 0)
        _exit(write(ends[1], "x", 1) == 1 ? 0 : errno);
    if (child > 0)
        waitpid(child, &status, 0);
    close(ends[1]);
    if (read(ends[0], &byte, 1) != 1)
        byte = 0;
    close(ends[0]);
    if (status != 0)
        tap_note("root's child %d ends with %x", child, (unsigned)status);
    return (child > 0 && status == 0 && byte == 'x') || refused(child > 0 ? "its child" : "fork");
}

#define AGAIN 1000000000l /* ns after which all are killed once more */

static void kill_user(bool may_fail)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        hog_become_user();
        kill(-1, SIGKILL);
        _exit(0);
    }
    if (child < 0 && may_fail) /* hog_end_user asks again */
        return;
    CHECK(child > 0 && waitpid(child, &status, 0) == child, "%s", tap_error(errno));
}

/* One time is not enough, because kill(-1) may miss a process that is being forked. */
bool hog_end_user(bool may_fail)
{
    int64_t until = tap_time() + TAP_PATIENCE;

    while (tap_time() < until) {
        int64_t again = tap_time() + AGAIN;

        kill_user(may_fail);
        while (tap_time() < again) {
            pid_t ended = waitpid(-1, NULL, WNOHANG);

            if (ended < 0)
                return true;
            if (ended == 0)
                usleep(1000);
        }
    }
    return false;
}

long hog_free_pages(void)
{
    struct sysinfo info = {0};

    sysinfo(&info);
    return (long)(info.freeram * info.mem_unit / PAGE);
}

long hog_locks(void)
{
    int fd = memfd_create("locks", 0);
    long made = 0;

    for (;; made++) {
        struct flock lock = {.l_type = F_WRLCK, .l_start = 2 * made, .l_len = 1};

        if (fcntl(fd, F_SETLK, &lock) != 0)
            return made;
    }
}

long hog_watches(void)
{
    long made = 0;

    for (;;) {
        int fd = inotify_init1(IN_NONBLOCK);

        if (fd < 0)
            return made;
        made += inotify_add_watch(fd, "/tmp", IN_ALL_EVENTS) >= 0;
        made += inotify_add_watch(fd, "/", IN_ALL_EVENTS) >= 0;
    }
}

long hog_terminals(void)
{
    static char bytes[4096];
    long made = 0;

    for (;; made++) {
        int fd = open("/dev/ptmx", O_RDWR | O_NONBLOCK | O_NOCTTY);

        if (fd < 0)
            return made;
        (void)!write(fd, bytes, sizeof(bytes)); /* more is dropped, as no line ends */
    }
}

/* One page in each GiB of a file. */
long hog_sparse(void)
{
    int fd = memfd_create("sparse", 0);
    long made = 0;

    while (pwrite(fd, "x", 1, made << 30) == 1)
        made++;
    return made;
}

/* Each set contains the one before, as long as they may be in each other. */
long hog_nested(void)
{
    struct epoll_event event = {.events = EPOLLIN};
    int last = eventfd(0, EFD_NONBLOCK);
    long made = 0;

    for (;; made++) {
        int set = epoll_create1(0);

        if (set < 0)
            return made;
        if (epoll_ctl(set, EPOLL_CTL_ADD, last, &event) != 0) {
            last = eventfd(0, EFD_NONBLOCK);
            if (last < 0)
                return made;
        } else {
            last = set;
        }
    }
}
