/* A thread that waits for such a lock gets it at the unlock, and gives up at its time. */
#include "abi.h"

static uint32_t word;
static atomic_int tried;
static void *other(void *argument)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    CALL(syscall(SYS_futex, &word, FUTEX_LOCK_PI, 0, &time, NULL, 0));
    tried = 1;
    CALL(syscall(SYS_futex, &word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
    SHOW((pid_t)(word & FUTEX_TID_MASK) == syscall(SYS_gettid));
    CALL(syscall(SYS_futex, &word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
    return argument;
}
int main(void)
{
    pthread_t thread;
    MUST(syscall(SYS_futex, &word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
    thread = start(other, NULL);
    while (!tried || (atomic_load((atomic_uint *)&word) & FUTEX_WAITERS) == 0)
        sched_yield();
    SHOW((word & FUTEX_WAITERS) != 0);
    MUST(syscall(SYS_futex, &word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
    pthread_join(thread, NULL);
    SHOW(word);
    return 0;
}
