/* SIGXCPU of RLIMIT_CPU goes to a thread that runs, not to one that gets no CPU. */
#include "abi.h"

static atomic_int seen, wrong;
static __thread int own;
static pid_t starving;

static void handler(int number)
{
    (void)number;
    if (gettid() == starving)
        atomic_store(&wrong, 1);
    own = 1;
    atomic_fetch_add(&seen, 1);
}
static void *spin(void *unused)
{
    while (atomic_load(&seen) == 0)
        __asm__ volatile("pause");
    SHOW(own);
    SHOW(wrong);
    return unused;
}
int main(void)
{
    struct sched_param parameters = {.sched_priority = 20};
    struct rlimit limit = {1, RLIM_INFINITY};
    pthread_attr_t attributes;
    pthread_t thread;

    go(1);
    starving = gettid();
    on_signal(SIGXCPU, handler, SA_RESTART);
    MUST(setrlimit(RLIMIT_CPU, &limit));
    pthread_attr_init(&attributes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &parameters);
    if (pthread_create(&thread, &attributes, spin, NULL) != 0)
        return 99;
    pthread_join(thread, NULL);
    SHOW(seen > 0);
    limit.rlim_cur = RLIM_INFINITY;
    CALL(setrlimit(RLIMIT_CPU, &limit));
    return 0;
}
