/* test-death: loads that have a kernel take what others have it take seldom or never. Each makes some calls over and
 * over, from a process at home on kernel 0 and, most of them, from one at home on the kernel that dies. Errors do not
 * matter: the kernel that is asked may have died. */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/machine/death.h"
#include "userland/x86.h"

#define FILE_NAME "/tmp/death-rare"
#define QUEUE_NAME "/death-rare"
#define USER 1000
#define BITS 64ul           /* of a set of nodes, as migrate_pages takes it: less one */
#define BLOCK_PAGES 16l     /* that move together */
#define SHARE_NS 30000000l  /* for so long both kernels use the same memory */
#define HOG_BYTES 0x100000l /* of each mapping of the process that takes all memory */

/* What a process shares with its second thread, or with its parent. */
struct rare {
    char *volatile memory; /* what the thread on the other kernel is to touch */
    atomic_int touched, ready;
    int kernel;
};

static struct rare *rare;

/* The calling thread goes on there, or ends with its process: the kernel may have died. */
static void go(int kernel)
{
    if (kettle_migrate(kernel) != 0)
        _exit(97);
}

/* The caller goes to KERNEL, and has a child from now on that is at home there and does the same. */
static void be_two(int kernel)
{
    go(kernel);
    fork();
}

/* --- files --- */

static _Noreturn void use_files(int kernel)
{
    struct statfs space;
    char bytes[1024];
    int fd = open(FILE_NAME, O_RDWR | O_CREAT, 0600);

    if (ftruncate(fd, PAGE) != 0 || mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
        _exit(98);
    for (be_two(kernel);;) {
        int maps = open("/proc/self/maps", O_RDONLY);

        while (maps >= 0 && read(maps, bytes, sizeof(bytes)) > 0)
            ;
        close(maps);
        fsync(fd);
        posix_fadvise(fd, 0, PAGE, POSIX_FADV_NORMAL);
        readahead(fd, 0, PAGE);
        fstatfs(fd, &space);
        statfs("/tmp", &space);
    }
}

static void ignore(int signal)
{
    (void)signal;
}

/* Waits for locks until a signal comes, for a pipe not at all, and for messages by a notice. */
static _Noreturn void wait_for_files(int kernel)
{
    const struct sigaction action = {.sa_handler = ignore};
    const struct itimerval soon = {.it_value = {.tv_usec = 1000}};
    struct flock first = {.l_type = F_WRLCK, .l_len = 1};
    struct sigevent notice = {.sigev_notify = SIGEV_NONE};
    int fd = open(FILE_NAME, O_RDWR | O_CREAT, 0600), ends[2];
    mqd_t queue = mq_open(QUEUE_NAME, O_RDWR | O_CREAT, 0600, NULL);

    if (pipe(ends) != 0 || queue < 0 || sigaction(SIGALRM, &action, NULL) != 0)
        _exit(98);
    if (fork() == 0) {
        fcntl(fd, F_SETLK, &first);
        for (;;)
            pause();
    }
    for (be_two(kernel);;) {
        struct pollfd state = {.fd = ends[0], .events = POLLIN};

        poll(&state, 1, 0);
        mq_notify(queue, &notice);
        mq_notify(queue, NULL);
        setitimer(ITIMER_REAL, &soon, NULL);
        fcntl(fd, F_SETLKW, &first);
    }
}

/* --- processes --- */

/* The parent of the calling process ends, and it with it. */
static _Noreturn void end_orphaned(pid_t parent)
{
    while (getppid() == parent)
        sched_yield();
    _exit(0);
}

/* A process at home on kernel HOME ends, whose child is at home on kernel OTHER. Comes back to kernel 0. */
static void orphan_one(int home, int other)
{
    pid_t child;

    go(home);
    child = fork();
    if (child == 0) {
        pid_t self = getpid();

        go(other);
        if (fork() == 0)
            end_orphaned(self);
        _exit(0);
    }
    go(0);
    if (child > 0)
        waitpid(child, NULL, 0);
}

static pid_t sleeper_of(int kernel)
{
    pid_t child;

    go(kernel);
    child = fork();
    while (child == 0)
        pause();
    return child;
}

static _Noreturn void have_families(int kernel)
{
    unsigned long from = 1ul << kettle_node(0), to = 1ul << kettle_node(kernel);
    pid_t there = sleeper_of(kernel), here = sleeper_of(0);

    for (;;) {
        orphan_one(0, kernel);
        orphan_one(kernel, 0);
        syscall(SYS_migrate_pages, there, BITS + 1, &to, &from);
        go(kernel);
        syscall(SYS_migrate_pages, here, BITS + 1, &from, &to);
        go(0);
    }
}

/* --- the machine --- */

static _Noreturn void audit(int kernel)
{
    static char report[4096];

    for (go(kernel);;)
        kettle_audit(KETTLE_AUDIT_MACHINE, report, sizeof(report));
}

/* --- memory --- */

/* On the kernel that dies: touches what the other thread has mapped. */
static void *touch_there(void *nothing)
{
    char *last = NULL;

    for (go(rare->kernel);;) {
        char *memory = rare->memory;

        if (memory != last) {
            for (long i = 0; i < BLOCK_PAGES; i++)
                ((volatile char *)memory)[i * PAGE]++;
            last = memory;
            rare->touched++;
        }
        x86_pause();
    }
    return nothing;
}

static void begin_touching(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, touch_there, NULL) != 0)
        _exit(98);
}

static char *map_block(void)
{
    return mmap(NULL, BLOCK_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* The other thread has memory there, and then this one begins to use it, too. */
static _Noreturn void share_memory(int kernel)
{
    rare->kernel = kernel;
    for (begin_touching();;) {
        char *memory = map_block();
        int before = rare->touched;
        int64_t since;

        if (memory == MAP_FAILED)
            continue;
        rare->memory = memory;
        while (rare->touched == before)
            sched_yield();
        for (since = tap_time(); tap_time() - since < SHARE_NS;) {
            for (long i = 0; i < BLOCK_PAGES; i++)
                ((volatile char *)memory)[i * PAGE]++;
        }
        munmap(memory, BLOCK_PAGES * PAGE);
    }
}

/* A user's thread moves pages of which the other kernel knows the areas, out of their middle. */
static _Noreturn void move_pages(void)
{
    if (setuid(USER) != 0)
        _exit(98);
    for (begin_touching();;) {
        char *memory = map_block(), *to = map_block();
        int before = rare->touched;

        if (memory == MAP_FAILED || to == MAP_FAILED)
            _exit(0);
        rare->memory = memory;
        while (rare->touched == before)
            sched_yield();
        rare->ready = 1;
        for (int i = 1; i < BLOCK_PAGES - 1; i += 2)
            syscall(SYS_mremap, memory + i * PAGE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to + i * PAGE);
        munmap(memory, BLOCK_PAGES * PAGE);
        munmap(to, BLOCK_PAGES * PAGE);
    }
}

/* The other kernel refuses what it needs for that at times. Whoever ends by it begins anew, until that kernel has died:
 * when it has started again, nothing is refused. */
static _Noreturn void be_refused(int kernel)
{
    char words[64];

    rare->kernel = kernel;
    snprintf(words, sizeof(words), "kernel=%d alloc=4", kernel);
    for (int status = 0; !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL;) {
        pid_t child;

        status = 0;
        rare->ready = 0;
        child = fork();
        if (child == 0)
            move_pages();
        while (rare->ready == 0 && kettle_started(kernel) > 0)
            sched_yield();
        kettle_control(words);
        while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
        kettle_control("alloc=0");
    }
    for (;;)
        pause();
}

static _Noreturn void take_all_memory(void)
{
    if (setuid(USER) != 0)
        _exit(98);
    for (;;) {
        char *memory = mmap(NULL, HOG_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

        for (long at = 0; memory != MAP_FAILED && at < HOG_BYTES; at += PAGE) /* what it has not got yet */
            memory[at] = 1;
    }
}

/* A user's processes take all memory, one after the other, until KERNEL has died: no kernel has any then. */
static _Noreturn void want_memory(int kernel)
{
    while (kettle_started(kernel) > 0) {
        pid_t child = fork();

        if (child == 0)
            take_all_memory();
        while (child > 0 && waitpid(child, NULL, WNOHANG) == 0) {
            if (kettle_started(kernel) == 0)
                kill(child, SIGKILL);
            usleep(1000); /* it has this CPU */
        }
    }
    for (;;)
        pause();
}

pid_t death_rare(const char *load, int kernel)
{
    static const struct {
        const char *name;
        void (*run)(int kernel);
    } loads[] = {
        {"files", use_files},    {"waits", wait_for_files}, {"families", have_families}, {"audits", audit},
        {"share", share_memory}, {"refused", be_refused},   {"memory", want_memory},
    };
    pid_t child;

    if (rare == NULL)
        rare = tap_share(sizeof(*rare));
    memset(rare, 0, sizeof(*rare));
    child = FORK();
    for (size_t i = 0; child == 0 && i < TAP_COUNT(loads); i++) {
        if (strcmp(load, loads[i].name) == 0)
            loads[i].run(kernel);
    }
    if (child == 0)
        _exit(99);
    return child;
}
