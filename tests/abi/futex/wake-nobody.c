/* A wake of nobody is 0. */
#include "abi.h"

int main(void)
{
    uint32_t word = 0;
    CALL(syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0));
    CALL(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0));
    CALL(syscall(SYS_futex, &word, FUTEX_WAKE_BITSET, 1, NULL, NULL, 1));
    return 0;
}
