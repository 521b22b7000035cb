/* What the programs of tests/abi share: every header, and words for what a call gave. Each program prints what POSIX or
 * Linux's manual pages define, never what depends on the machine or on who was faster; `tools/kettle abi` compares what
 * it prints on Kettle and on Linux. Programs of a folder are linked into one file, so all they define is static. */
#ifndef TESTS_ABI_H
#define TESTS_ABI_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <termios.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <utime.h>

#define PAGE 4096L

/* What linux/futex.h has, which musl's compiler does not find. */
#define FUTEX_WAIT 0
#define FUTEX_WAKE 1
#define FUTEX_REQUEUE 3
#define FUTEX_CMP_REQUEUE 4
#define FUTEX_WAKE_OP 5
#define FUTEX_LOCK_PI 6
#define FUTEX_UNLOCK_PI 7
#define FUTEX_TRYLOCK_PI 8
#define FUTEX_WAIT_BITSET 9
#define FUTEX_WAKE_BITSET 10
#define FUTEX_WAIT_REQUEUE_PI_PRIVATE (11 | 128)
#define FUTEX_CMP_REQUEUE_PI_PRIVATE (12 | 128)
#define FUTEX_WAIT_PRIVATE (FUTEX_WAIT | 128)
#define FUTEX_WAKE_PRIVATE (FUTEX_WAKE | 128)
#define FUTEX_CMP_REQUEUE_PRIVATE (FUTEX_CMP_REQUEUE | 128)
#define FUTEX_LOCK_PI_PRIVATE (FUTEX_LOCK_PI | 128)
#define FUTEX_UNLOCK_PI_PRIVATE (FUTEX_UNLOCK_PI | 128)
#define FUTEX_WAIT_BITSET_PRIVATE (FUTEX_WAIT_BITSET | 128)
#define FUTEX_WAKE_BITSET_PRIVATE (FUTEX_WAKE_BITSET | 128)
#define FUTEX_CLOCK_REALTIME 256
#define FUTEX_BITSET_MATCH_ANY 0xffffffff
#define FUTEX_WAITERS 0x80000000u
#define FUTEX_OWNER_DIED 0x40000000u
#define FUTEX_TID_MASK 0x3fffffffu
#define FUTEX_OP_SET 0
#define FUTEX_OP_CMP_EQ 0
#define FUTEX_OP_CMP_LT 2
#define FUTEX_OP(op, oparg, cmp, cmparg)                                                                               \
    (((op)&15u) << 28 | ((cmp)&15u) << 24 | ((oparg)&4095u) << 12 | ((cmparg)&4095u))
struct robust_list {
    struct robust_list *next;
};
struct robust_list_head {
    struct robust_list list;
    long futex_offset;
    struct robust_list *list_op_pending;
};

/* "CALL: value" or "CALL: ENAME", as Linux's calls return. */
#define CALL(call) (errno = 0, call_said(#call, (long)(call)))
/* "CALL: 0" or "CALL: ENAME", as pthread functions return. */
#define CODE(call) code_said(#call, (call))
#define SHOW(value) printf("%s = %ld\n", #value, (long)(value))
#define TEXT(text) printf("%s = \"%s\"\n", #text, (text))
/* What must work before there is anything to show. */
#define MUST(call) must(#call, (long)(call))
#define MAP(size, flags) map_must(size, flags)

static const struct {
    int number;
    const char *name;
} errno_names[] = {
#define ERRNO_NAME(name)                                                                                               \
    {                                                                                                                  \
        name, #name                                                                                                    \
    }
    ERRNO_NAME(EPERM),        ERRNO_NAME(ENOENT),          ERRNO_NAME(ESRCH),        ERRNO_NAME(EINTR),
    ERRNO_NAME(EIO),          ERRNO_NAME(ENXIO),           ERRNO_NAME(E2BIG),        ERRNO_NAME(ENOEXEC),
    ERRNO_NAME(EBADF),        ERRNO_NAME(ECHILD),          ERRNO_NAME(EAGAIN),       ERRNO_NAME(ENOMEM),
    ERRNO_NAME(EACCES),       ERRNO_NAME(EFAULT),          ERRNO_NAME(EBUSY),        ERRNO_NAME(EEXIST),
    ERRNO_NAME(EXDEV),        ERRNO_NAME(ENODEV),          ERRNO_NAME(ENOTDIR),      ERRNO_NAME(EISDIR),
    ERRNO_NAME(EINVAL),       ERRNO_NAME(ENFILE),          ERRNO_NAME(EMFILE),       ERRNO_NAME(ENOTTY),
    ERRNO_NAME(ETXTBSY),      ERRNO_NAME(EFBIG),           ERRNO_NAME(ENOSPC),       ERRNO_NAME(ESPIPE),
    ERRNO_NAME(EROFS),        ERRNO_NAME(EMLINK),          ERRNO_NAME(EPIPE),        ERRNO_NAME(EDOM),
    ERRNO_NAME(ERANGE),       ERRNO_NAME(EDEADLK),         ERRNO_NAME(ENAMETOOLONG), ERRNO_NAME(ENOLCK),
    ERRNO_NAME(ENOSYS),       ERRNO_NAME(ENOTEMPTY),       ERRNO_NAME(ELOOP),        ERRNO_NAME(EOVERFLOW),
    ERRNO_NAME(ENOTSOCK),     ERRNO_NAME(EDESTADDRREQ),    ERRNO_NAME(EMSGSIZE),     ERRNO_NAME(EPROTOTYPE),
    ERRNO_NAME(EOPNOTSUPP),   ERRNO_NAME(EAFNOSUPPORT),    ERRNO_NAME(EADDRINUSE),   ERRNO_NAME(EADDRNOTAVAIL),
    ERRNO_NAME(ECONNRESET),   ERRNO_NAME(EISCONN),         ERRNO_NAME(ENOTCONN),     ERRNO_NAME(ETIMEDOUT),
    ERRNO_NAME(ECONNREFUSED), ERRNO_NAME(EALREADY),        ERRNO_NAME(EINPROGRESS),  ERRNO_NAME(ECANCELED),
    ERRNO_NAME(EOWNERDEAD),   ERRNO_NAME(ENOTRECOVERABLE), ERRNO_NAME(ENODATA),      ERRNO_NAME(EIDRM),
    ERRNO_NAME(ENOMSG),       ERRNO_NAME(EPROTONOSUPPORT), ERRNO_NAME(ENOTBLK),      ERRNO_NAME(EILSEQ),
#undef ERRNO_NAME
};

static inline const char *errno_name(int number)
{
    static char other[32];

    for (size_t i = 0; i < sizeof(errno_names) / sizeof(errno_names[0]); i++) {
        if (errno_names[i].number == number)
            return errno_names[i].name;
    }
    snprintf(other, sizeof(other), "errno %d", number);
    return other;
}

static inline long call_said(const char *what, long value)
{
    int error = errno;

    if (value == -1)
        printf("%s: %s\n", what, errno_name(error));
    else
        printf("%s: %ld\n", what, value);
    errno = error;
    return value;
}

static inline int code_said(const char *what, int error)
{
    printf("%s: %s\n", what, error == 0 ? "0" : errno_name(error));
    return error;
}

static inline long must(const char *what, long value)
{
    if (value == -1) {
        printf("%s must work: %s\n", what, errno_name(errno));
        fflush(stdout);
        _exit(99);
    }
    return value;
}

static inline char *map_must(size_t size, int flags)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);

    must("mmap", (long)at);
    return (char *)at;
}

static inline const char *signal_name(int number)
{
    static char other[32];
    static const char *const names[] = {"0",      "HUP",  "INT",    "QUIT", "ILL",   "TRAP", "ABRT", "BUS",
                                        "FPE",    "KILL", "USR1",   "SEGV", "USR2",  "PIPE", "ALRM", "TERM",
                                        "STKFLT", "CHLD", "CONT",   "STOP", "TSTP",  "TTIN", "TTOU", "URG",
                                        "XCPU",   "XFSZ", "VTALRM", "PROF", "WINCH", "IO",   "PWR",  "SYS"};

    if (number >= 0 && number < 32)
        return names[number];
    snprintf(other, sizeof(other), "signal %d", number);
    return other;
}

/* Tells a status of wait. */
static inline void tell_status(int status)
{
    if (WIFEXITED(status))
        printf("exited %d\n", WEXITSTATUS(status));
    else if (WIFSIGNALED(status))
        printf("killed by %s\n", signal_name(WTERMSIG(status)));
    else if (WIFSTOPPED(status))
        printf("stopped by %s\n", signal_name(WSTOPSIG(status)));
    else
        printf("%s\n", WIFCONTINUED(status) ? "continued" : "unknown status");
}

/* Waits for CHILD's end and tells it. */
static inline void reap(pid_t child)
{
    int status;

    MUST(waitpid(child, &status, 0));
    tell_status(status);
}

/* A child that runs FUNCTION and exits with what it returns. */
static inline pid_t spawn(int (*function)(void))
{
    pid_t child;

    fflush(stdout);
    child = fork();
    MUST(child);
    if (child == 0) {
        int status = function();

        fflush(stdout);
        _exit(status);
    }
    return child;
}

/* For signal handlers. */
static inline void say(const char *text)
{
    (void)!write(1, text, strlen(text));
}

static inline void on_signal(int number, void (*handler)(int), int flags)
{
    struct sigaction action;

    memset(&action, 0, sizeof(action));
    action.sa_handler = handler;
    action.sa_flags = flags;
    MUST(sigaction(number, &action, NULL));
}

static inline void on_info(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action;

    memset(&action, 0, sizeof(action));
    action.sa_sigaction = handler;
    action.sa_flags = flags | SA_SIGINFO;
    MUST(sigaction(number, &action, NULL));
}

static inline sigset_t set_of(int number)
{
    sigset_t set;

    sigemptyset(&set);
    if (number != 0)
        sigaddset(&set, number);
    return set;
}

static inline pthread_t start(void *(*function)(void *), void *argument)
{
    pthread_t thread;
    int error = pthread_create(&thread, NULL, function, argument);

    if (error != 0) {
        printf("pthread_create must work: %s\n", errno_name(error));
        fflush(stdout);
        _exit(99);
    }
    return thread;
}

static inline void put_file(const char *name, const char *text)
{
    int fd = (int)MUST(open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644));

    MUST(write(fd, text, strlen(text)));
    close(fd);
}

/* Prints what the file has, up to 4 KiB. */
static inline void tell_file(const char *name)
{
    char text[4096];
    int fd = open(name, O_RDONLY);
    ssize_t count = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

    if (count < 0) {
        printf("%s: %s\n", name, errno_name(errno));
    } else {
        text[count] = '\0';
        printf("%s: \"%s\"\n", name, text);
    }
    if (fd >= 0)
        close(fd);
}

static inline int64_t now(clockid_t clock)
{
    struct timespec time;

    MUST(clock_gettime(clock, &time));
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static inline void sleep_ms(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};

    while (nanosleep(&time, &time) != 0 && errno == EINTR) {
    }
}

/* Waits until THREAD of PROCESS sleeps. */
static inline void until_asleep(pid_t process, pid_t thread)
{
    char name[64], text[512] = "";
    char *end = NULL;

    snprintf(name, sizeof(name), "/proc/%d/task/%d/stat", process, thread);
    do {
        int fd = (int)must(name, open(name, O_RDONLY));
        ssize_t count = read(fd, text, sizeof(text) - 1);

        close(fd);
        text[count < 0 ? 0 : count] = '\0';
        end = strrchr(text, ')');
        sched_yield();
    } while (end == NULL || end[2] != 'S');
}

/* SIGALRM every MS milliseconds; 0: no more. For what would miss a single one that comes early. */
static inline void alarms(long ms)
{
    struct itimerval time = {{0, ms * 1000}, {0, ms * 1000}};

    MUST(setitimer(ITIMER_REAL, &time, NULL));
}

/* Lets the calling thread run on one of its CPUs only: the one at INDEX, modulo their number. */
static inline void go(int index)
{
    static cpu_set_t all;
    static int known;
    cpu_set_t one;
    int count, number = -1;

    if (!known)
        MUST(sched_getaffinity(0, sizeof(all), &all));
    known = 1;
    count = CPU_COUNT(&all);
    for (int left = index % count; left >= 0; left--) {
        do {
            number++;
        } while (!CPU_ISSET(number, &all));
    }
    CPU_ZERO(&one);
    CPU_SET(number, &one);
    MUST(sched_setaffinity(0, sizeof(one), &one));
}

/* As spawn; this process may have moved away from where it was made, but its child is made on the one CPU that both may
 * use from now on, and stays there. */
static inline pid_t spawn_here(int (*function)(void))
{
    cpu_set_t here;

    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    MUST(sched_setaffinity(0, sizeof(here), &here));
    return spawn(function);
}

/* What is printed by a process that dies is seen up to the last whole line. */
__attribute__((constructor)) static void begin(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
}

#endif
