/* rt_tgsigqueueinfo gives a thread a signal with a value. */
#include "abi.h"

static atomic_int got;
static void handler(int n, siginfo_t *info, void *u)
{
    got = info->si_value.sival_int + (n != SIGUSR1) + (u == NULL);
}
static void *work(void *argument)
{
    while (got == 0)
        sched_yield();
    return argument;
}
int main(void)
{
    siginfo_t info;
    on_info(SIGUSR1, handler, 0);
    memset(&info, 0, sizeof(info));
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_value.sival_int = 31;
    CALL(syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SIGUSR1, &info));
    SHOW(got);
    info.si_code = SI_TKILL;
    CALL(syscall(SYS_rt_tgsigqueueinfo, getpid(), 999999, SIGUSR1, &info));
    pthread_join(start(work, NULL), NULL);
    return 0;
}
