/* test-death: a load of calls that the other loads do not make, or seldom: on processes, memory and files of which the
 * caller's kernel has to ask another one. Errors do not matter: the kernel that is asked may have died. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/machine/death.h"

#define SHARED_PAGES 4
#define FUTEX_CMP_REQUEUE_PI 12
#define MPOL_BIND 2
#define STRATEGIES 2
#define FILE_NAME "/tmp/death-calls"

/* What the calls are about. */
struct asked {
    pid_t process;        /* a child, at home where the caller's process is, and not where the caller is */
    pid_t thread;         /* sleeps on another kernel */
    char *memory;         /* private, PAGES pages */
    char *object, *other; /* shared, SHARED_PAGES pages each: of the caller's kernel and of the sleeper's */
    int file;             /* of SHARED_PAGES pages; PROCESS has a lock of its first byte */
    char *mapped;         /* it */
    int elsewhere;        /* a kernel that is not the caller's */
    uint64_t others;      /* set of kernels that messages go to */
};

static void read_all(const char *format, int process)
{
    char name[64], bytes[2048];
    int fd;

    snprintf(name, sizeof(name), format, process);
    fd = open(name, O_RDONLY);
    while (fd >= 0 && read(fd, bytes, sizeof(bytes)) > 0)
        ;
    close(fd);
}

static void list(const char *format, int process)
{
    char name[64], entries[2048];
    int fd;

    snprintf(name, sizeof(name), format, process);
    fd = open(name, O_RDONLY | O_DIRECTORY);
    while (fd >= 0 && syscall(SYS_getdents64, fd, entries, sizeof(entries)) > 0)
        ;
    close(fd);
}

static void ask_about_process(const struct asked *asked)
{
    unsigned long mask[16];
    struct rusage use;
    struct rlimit limit;
    void *head;
    size_t size;

    getrusage(RUSAGE_CHILDREN, &use);
    read_all("/proc/%d/io", asked->process);
    read_all("/proc/self/io", 0);
    read_all("/proc/%d/numa_maps", asked->process);
    list("/proc/%d/fd", asked->process);
    list("/proc", 0);
    syscall(SYS_sched_getaffinity, asked->thread, sizeof(mask), mask);
    syscall(SYS_get_robust_list, asked->thread, &head, &size);
    kill(asked->process, SIGWINCH);
    syscall(SYS_prlimit64, asked->process, RLIMIT_CORE, NULL, &limit);
}

static void ask_about_memory(const struct asked *asked, int turn)
{
    static const char *const strategies[STRATEGIES] = {"upfront", "members"}; /* beside the one that it begins with */
    static char report[4096];
    unsigned long all = 1; /* node 0 */
    void *pages[4];
    int nodes[4], status[4];
    char bytes[64];
    struct iovec here = {bytes, sizeof(bytes)}, there = {asked->memory, sizeof(bytes)};
    unsigned char resident[SHARED_PAGES];

    memset(asked->memory + turn % 8 * PAGE, turn, PAGE);
    for (int i = 0; i < 4; i++) {
        pages[i] = asked->memory + i * PAGE;
        nodes[i] = turn % 2;
    }
    syscall(SYS_move_pages, asked->process, 4ul, pages, nodes, status, 2 /* MPOL_MF_MOVE */);
    process_vm_readv(asked->process, &here, 1, &there, 1, 0);
    process_vm_writev(asked->process, &here, 1, &there, 1, 0);
    kettle_audit(asked->process, report, sizeof(report));
    kettle_retrieve(turn % 3 == 0 ? getpid() : asked->process, strategies[turn % STRATEGIES]);
    for (int i = 0; i < 3; i++) {
        char *object = i == 0 ? asked->object : i == 1 ? asked->other : asked->mapped;

        mincore(object, SHARED_PAGES * PAGE, resident);
        syscall(SYS_mbind, object, (unsigned long)SHARED_PAGES * PAGE, MPOL_BIND, &all, 2ul, 0u);
        object[turn % SHARED_PAGES * PAGE]++;
    }
    for (int i = 0; i < 2; i++) { /* from a word of either kernel to one of the other */
        char *from = i == 0 ? asked->object : asked->other, *to = i == 0 ? asked->other : asked->object;

        syscall(SYS_futex, from + 64, FUTEX_CMP_REQUEUE_PI, 1, 100l, to + 128, *(int *)(void *)(from + 64));
    }
}

static void ignore(int signal)
{
    (void)signal;
}

/* Waits for a lock until a signal comes; and a child that is away from its home takes one. */
static void lock_something(const struct asked *asked, int turn)
{
    struct flock first = {.l_type = F_WRLCK, .l_len = 1}, own = {.l_type = F_WRLCK, .l_start = 1 + turn, .l_len = 1};
    const struct itimerval soon = {.it_value = {.tv_usec = 2000}};
    pid_t child;

    setitimer(ITIMER_REAL, &soon, NULL);
    fcntl(asked->file, F_SETLKW, &first);
    child = fork();
    if (child == 0) {
        kettle_migrate(asked->elsewhere);
        fcntl(asked->file, F_SETLK, &own);
        _exit(asked->memory[turn % 8 * PAGE]);
    }
    if (child > 0)
        waitpid(child, NULL, 0);
}

static void send_messages(const struct asked *asked)
{
    struct kettle_messages run = {.kernels = asked->others, .count = 4, .size = 32};

    for (run.operation = KETTLE_MESSAGES_ONE_WAY; run.operation <= KETTLE_MESSAGES_HANDLER; run.operation++) {
        run.size = run.operation == KETTLE_MESSAGES_HANDLER ? 48 : 32;
        for (run.urgent = 0; run.urgent < 2; run.urgent++)
            kettle_messages(&run);
    }
    run = (struct kettle_messages){
        .operation = KETTLE_MESSAGES_UNICAST, .kernels = asked->others, .count = 2, .size = 1024};
    kettle_messages(&run);
}

static _Noreturn void call_for_ever(const struct asked *asked)
{
    static char report[4096];

    for (int turn = 0;; turn++) {
        send_messages(asked);
        ask_about_memory(asked, turn);
        ask_about_process(asked);
        close(open(tap_self(), O_WRONLY)); /* of a program that runs */
        lock_something(asked, turn);
        if (turn % 8 == 7)
            kettle_audit(KETTLE_AUDIT_MACHINE, report, sizeof(report));
    }
}

static char *share_pages(void)
{
    return mmap(NULL, SHARED_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* --- a thread that sleeps on another kernel, and the one that calls --- */

struct calling {
    struct asked asked;
    int caller, sleeper; /* kernels */
    pthread_barrier_t met;
};

static void *sleep_there(void *context)
{
    struct calling *calling = context;

    kettle_migrate(calling->sleeper);
    calling->asked.thread = (pid_t)syscall(SYS_gettid);
    calling->asked.other = share_pages();
    pthread_barrier_wait(&calling->met);
    for (;;)
        pause();
    return NULL;
}

/* The calling thread goes to CALLER, and asks about a child that stays at home, and a thread on SLEEPER. */
static _Noreturn void call(int caller, int sleeper)
{
    const struct sigaction action = {.sa_handler = ignore};
    static struct calling calling;
    pthread_t thread;

    calling.caller = caller;
    calling.sleeper = sleeper;
    calling.asked.memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    calling.asked.file = open(FILE_NAME, O_RDWR | O_CREAT, 0600);
    calling.asked.elsewhere = sleeper;
    calling.asked.process = fork();
    if (calling.asked.process == 0) {
        struct flock first = {.l_type = F_WRLCK, .l_len = 1};

        fcntl(calling.asked.file, F_SETLK, &first);
        for (;;)
            pause();
    }
    sigaction(SIGALRM, &action, NULL);
    pthread_barrier_init(&calling.met, NULL, 2);
    if (calling.asked.memory == MAP_FAILED || calling.asked.process < 0 ||
        pthread_create(&thread, NULL, sleep_there, &calling) != 0)
        _exit(92);
    kettle_migrate(caller);
    calling.asked.object = share_pages();
    if (ftruncate(calling.asked.file, SHARED_PAGES * PAGE) != 0)
        _exit(94);
    calling.asked.mapped = mmap(NULL, SHARED_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, calling.asked.file, 0);
    for (int k = 0; k < kettle_kernels(); k++) {
        if (k != caller && kettle_started(k) > 0)
            calling.asked.others |= 1ull << k;
    }
    pthread_barrier_wait(&calling.met);
    if (calling.asked.object == MAP_FAILED || calling.asked.other == MAP_FAILED || calling.asked.mapped == MAP_FAILED)
        _exit(93);
    call_for_ever(&calling.asked);
}

/* Its thread on kernel 0 asks; what it asks about is here. */
int death_home_calls(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    call(0, kettle_kernel());
}

void death_call_from(int kernel)
{
    call(kernel, 0);
}
