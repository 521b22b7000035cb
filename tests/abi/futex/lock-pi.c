/* Locks that inherit priority: owner, second lock, unlock by another. */
#include "abi.h"

static uint32_t word;
static void *other(void *argument)
{
    CALL(syscall(SYS_futex, &word, FUTEX_TRYLOCK_PI, 0, NULL, NULL, 0));
    CALL(syscall(SYS_futex, &word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
    return argument;
}
int main(void)
{
    struct timespec soon;
    CALL(syscall(SYS_futex, &word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
    SHOW((pid_t)(word & FUTEX_TID_MASK) == getpid());
    CALL(syscall(SYS_futex, &word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
    pthread_join(start(other, NULL), NULL);
    CALL(syscall(SYS_futex, &word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
    SHOW(word);
    CALL(syscall(SYS_futex, &word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
    word = 999999;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_sec += 2;
    CALL(syscall(SYS_futex, &word, FUTEX_LOCK_PI, 0, &soon, NULL, 0));
    return 0;
}
