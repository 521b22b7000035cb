/* Requeues without waiters, and with a value that is not there. */
#include "abi.h"

int main(void)
{
    uint32_t a = 1, b = 2;
    CALL(syscall(SYS_futex, &a, FUTEX_REQUEUE, 1, 1L, &b, 0));
    CALL(syscall(SYS_futex, &a, FUTEX_CMP_REQUEUE, 1, 1L, &b, 1));
    CALL(syscall(SYS_futex, &a, FUTEX_CMP_REQUEUE, 1, 1L, &b, 2));
    CALL(syscall(SYS_futex, &a, FUTEX_CMP_REQUEUE, 1, 1L, NULL, 1));
    return 0;
}
