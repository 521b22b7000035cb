/* ITIMER_PROF's and ITIMER_VIRTUAL's signal goes to a thread that runs, not to one that gets no CPU. */
#include "abi.h"

static atomic_int seen;
static __thread int own;
static pid_t starving;
static atomic_int wrong;

static void handler(int number)
{
    (void)number;
    if (gettid() == starving)
        atomic_store(&wrong, 1);
    atomic_fetch_add(&seen, 1);
    own = 1;
}
/* Starts the timer by itself, so that its time is not used up before. */
static void *spin(void *which)
{
    struct itimerval none = {0}, time = {{0, 0}, {0, 20000}};

    MUST(setitimer((int)(long)which, &time, NULL));
    while (atomic_load(&seen) == 0)
        __asm__ volatile("pause");
    MUST(setitimer(ITIMER_PROF, &none, NULL));
    MUST(setitimer(ITIMER_VIRTUAL, &none, NULL));
    SHOW(own);
    SHOW(wrong);
    return NULL;
}
static void one(int which, int number)
{
    struct sched_param parameters = {.sched_priority = 20};
    pthread_attr_t attributes;
    pthread_t thread;

    atomic_store(&seen, 0);
    on_signal(number, handler, SA_RESTART);
    pthread_attr_init(&attributes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &parameters);
    if (pthread_create(&thread, &attributes, spin, (void *)(long)which) != 0)
        _exit(99);
    pthread_join(thread, NULL);
    SHOW(seen > 0);
}
int main(void)
{
    go(1);
    starving = gettid();
    one(ITIMER_PROF, SIGPROF);
    one(ITIMER_VIRTUAL, SIGVTALRM);
    return 0;
}
