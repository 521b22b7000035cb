/* FUTEX_WAKE_OP changes the second word by each of its operations. */
#include "abi.h"

int main(void)
{
    uint32_t a = 0, b = 12;
    for (int operation = 0; operation < 5; operation++) {
        SHOW(syscall(SYS_futex, &a, FUTEX_WAKE_OP, 1, 1L, &b, FUTEX_OP(operation, 5, FUTEX_OP_CMP_EQ, 12)));
        SHOW(b);
    }
    CALL(syscall(SYS_futex, &a, FUTEX_WAKE_OP, 1, 1L, &b, FUTEX_OP(7, 5, FUTEX_OP_CMP_EQ, 12)));
    SHOW(syscall(SYS_futex, &a, FUTEX_WAKE_OP, 1, 1L, &b, FUTEX_OP(FUTEX_OP_SET | 8, 5, FUTEX_OP_CMP_LT, 12)));
    SHOW(b);
    return 0;
}
