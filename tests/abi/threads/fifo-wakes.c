/* Whatever wakes a thread of SCHED_FIFO of higher priority on this CPU: it runs before its waker goes on. */
#include "abi.h"

static atomic_int steps;
static int ends[2], pair[2], event, epoll, word;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static int ready;

static void reads_pipe(void)
{
    char byte;

    MUST(read(ends[0], &byte, 1));
}
static void writes_pipe(void)
{
    MUST(write(ends[1], "x", 1));
}
static void reads_socket(void)
{
    char byte;

    MUST(recv(pair[0], &byte, 1, 0));
}
static void writes_socket(void)
{
    MUST(send(pair[1], "x", 1, 0));
}
static void reads_event(void)
{
    uint64_t value;

    MUST(read(event, &value, sizeof(value)));
}
static void writes_event(void)
{
    uint64_t value = 1;

    MUST(write(event, &value, sizeof(value)));
}
static void polls_event(void)
{
    struct pollfd source = {.fd = event, .events = POLLIN};

    MUST(poll(&source, 1, -1));
    reads_event();
}
static void waits_epoll(void)
{
    struct epoll_event got;

    MUST(epoll_wait(epoll, &got, 1, -1));
    reads_event();
}
static void waits_futex(void)
{
    while (syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL) == -1 && errno == EINTR) {
    }
}
static void wakes_futex(void)
{
    MUST(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1));
}
static void waits_bits(void)
{
    MUST(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, 2));
}
static void wakes_bits(void)
{
    MUST(syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, 1, NULL, NULL, 2));
}
static void locks(void)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}
static void unlocks(void)
{
    pthread_mutex_unlock(&mutex);
}
static void waits_cond(void)
{
    pthread_mutex_lock(&mutex);
    while (!ready)
        pthread_cond_wait(&cond, &mutex);
    pthread_mutex_unlock(&mutex);
}
static void signals_cond(void)
{
    ready = 1;
    pthread_cond_signal(&cond);
}
static void waits_barrier(void)
{
    pthread_barrier_wait(&barrier);
}
static atomic_int tid;
static void waits_signal(void)
{
    sigset_t signals = set_of(SIGUSR1);
    int number;

    MUST(sigwait(&signals, &number));
}
static void sends_signal(void)
{
    MUST(syscall(SYS_tgkill, getpid(), atomic_load(&tid), SIGUSR1));
}
static void nothing(void)
{
}

static void (*wait_for_it)(void);
static void *waits(void *unused)
{
    atomic_store(&tid, gettid());
    wait_for_it();
    atomic_store(&steps, 1);
    return unused;
}
static void one(const char *what, int policy, void (*wait)(void), void (*wake)(void))
{
    struct sched_param parameters = {.sched_priority = 30};
    pthread_attr_t attributes;
    pthread_t thread;

    atomic_store(&steps, 0);
    wait_for_it = wait;
    pthread_attr_init(&attributes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, policy);
    pthread_attr_setschedparam(&attributes, &parameters);
    MUST(pthread_create(&thread, &attributes, waits, NULL) == 0 ? 0 : -1);
    wake();
    printf("%s: %d\n", what, atomic_load(&steps));
    pthread_join(thread, NULL);
}
/* A process that is waited for by a thread of higher priority: its end wakes that before another of its CPU runs. */
static void of_child(void)
{
    struct sched_param parameters = {.sched_priority = 40};
    pid_t child;
    int status;

    fflush(stdout);
    child = fork();
    if (child == 0)
        _exit(3);
    MUST(sched_setscheduler(0, SCHED_FIFO, &parameters));
    MUST(waitpid(child, &status, 0));
    tell_status(status);
    parameters.sched_priority = 20;
    MUST(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &parameters));
}
static int shown(void)
{
    struct sched_param parameters = {.sched_priority = 20};
    struct epoll_event added = {.events = EPOLLIN};
    sigset_t signals = set_of(SIGUSR1);

    MUST(sigprocmask(SIG_BLOCK, &signals, NULL));
    MUST(pipe(ends));
    MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
    MUST(event = eventfd(0, 0));
    MUST(epoll = epoll_create1(0));
    MUST(epoll_ctl(epoll, EPOLL_CTL_ADD, event, &added));
    pthread_barrier_init(&barrier, NULL, 2);
    MUST(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &parameters));
    for (int policy = SCHED_FIFO; policy <= SCHED_RR; policy++) {
        printf("policy %d\n", policy);
        one("made", policy, nothing, nothing);
        one("pipe", policy, reads_pipe, writes_pipe);
        one("socket", policy, reads_socket, writes_socket);
        one("eventfd", policy, reads_event, writes_event);
        one("poll", policy, polls_event, writes_event);
        one("epoll", policy, waits_epoll, writes_event);
        one("futex", policy, waits_futex, wakes_futex);
        one("bits", policy, waits_bits, wakes_bits);
        pthread_mutex_lock(&mutex);
        one("mutex", policy, locks, unlocks);
        ready = 0;
        one("condition", policy, waits_cond, signals_cond);
        one("barrier", policy, waits_barrier, waits_barrier);
        one("signal", policy, waits_signal, sends_signal);
    }
    of_child();
    return 0;
}
/* All on one CPU, and so all of one kernel. */
int main(void)
{
    reap(spawn_here(shown));
    return 0;
}
