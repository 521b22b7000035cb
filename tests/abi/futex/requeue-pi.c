/* FUTEX_CMP_REQUEUE_PI moves a waiter to a lock that inherits priority. */
#include "abi.h"

static uint32_t cond, lock;
static void *work(void *argument)
{
    CALL(syscall(SYS_futex, &cond, FUTEX_WAIT_REQUEUE_PI_PRIVATE, 0, NULL, &lock, 0));
    SHOW((pid_t)(lock & FUTEX_TID_MASK) == syscall(SYS_gettid));
    CALL(syscall(SYS_futex, &lock, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0));
    return argument;
}
int main(void)
{
    pthread_t thread = start(work, NULL);
    long moved = 0;
    for (int i = 0; i < 200; i++) {
        moved = syscall(SYS_futex, &cond, FUTEX_CMP_REQUEUE_PI_PRIVATE, 1, 0L, &lock, 0);
        if (moved != 0)
            break;
        sleep_ms(5);
    }
    pthread_join(thread, NULL);
    SHOW(moved);
    return 0;
}
