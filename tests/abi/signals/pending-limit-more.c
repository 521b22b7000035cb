/* RLIMIT_SIGPENDING counts all of a user's processes, signals to threads, and timers; what is taken counts no more. */
#include "abi.h"

static union sigval value = {.sival_int = 7};

static void block(sigset_t *set)
{
    *set = set_of(SIGRTMIN);
    sigaddset(set, SIGUSR1);
    MUST(sigprocmask(SIG_BLOCK, set, NULL));
}
static int other(void)
{
    sigset_t set;

    block(&set);
    CALL(sigqueue(getpid(), SIGRTMIN, value));
    CALL(sigqueue(getppid(), SIGRTMIN, value));
    CALL(kill(getppid(), SIGUSR1));
    return 0;
}
static void thread_directed(void)
{
    siginfo_t info;

    memset(&info, 0, sizeof(info));
    info.si_code = SI_QUEUE;
    info.si_value = value;
    CALL(syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGRTMIN, &info));
}
static int limited(void)
{
    struct rlimit limit = {3, 3};
    struct timespec none = {0, 0};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
    timer_t timers[4];
    sigset_t set;
    int left = 0;

    block(&set);
    MUST(setrlimit(RLIMIT_SIGPENDING, &limit));
    MUST(setuid(1234));
    thread_directed();
    thread_directed();
    reap(spawn(other)); /* its own ends with it */
    thread_directed();
    while (sigtimedwait(&set, NULL, &none) > 0)
        left++;
    SHOW(left);
    CALL(sigqueue(getpid(), SIGRTMIN, value));
    while (sigtimedwait(&set, NULL, &none) > 0) {
    }
    CALL(timer_create(CLOCK_MONOTONIC, &event, &timers[0]));
    CALL(timer_create(CLOCK_MONOTONIC, &event, &timers[1]));
    CALL(sigqueue(getpid(), SIGRTMIN, value));
    CALL(sigqueue(getpid(), SIGRTMIN, value));
    CALL(timer_create(CLOCK_MONOTONIC, &event, &timers[2]));
    CALL(timer_delete(timers[0]));
    CALL(timer_create(CLOCK_MONOTONIC, &event, &timers[2]));
    return 0;
}
/* All on one CPU: kernels count by themselves. */
int main(void)
{
    reap(spawn_here(limited));
    return 0;
}
