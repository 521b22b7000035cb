/* What futex refuses. */
#include "abi.h"

int main(void)
{
    uint32_t words[2] = {0};
    struct timespec bad = {0, 1000000000}, negative = {-1, 0};
    CALL(syscall(SYS_futex, (char *)words + 1, FUTEX_WAIT, 0, NULL, NULL, 0));
    CALL(syscall(SYS_futex, (char *)words + 2, FUTEX_WAKE, 1, NULL, NULL, 0));
    CALL(syscall(SYS_futex, NULL, FUTEX_WAIT, 0, NULL, NULL, 0));
    CALL(syscall(SYS_futex, (void *)0x1000, FUTEX_WAKE, 1, NULL, NULL, 0));
    CALL(syscall(SYS_futex, words, FUTEX_WAIT, 0, &bad, NULL, 0));
    CALL(syscall(SYS_futex, words, FUTEX_WAIT, 0, &negative, NULL, 0));
    CALL(syscall(SYS_futex, words, FUTEX_WAIT, 0, (void *)8, NULL, 0));
    CALL(syscall(SYS_futex, words, FUTEX_WAIT_BITSET, 0, NULL, NULL, 0));
    CALL(syscall(SYS_futex, words, FUTEX_WAKE_BITSET, 1, NULL, NULL, 0));
    CALL(syscall(SYS_futex, words, 77, 0, NULL, NULL, 0));
    CALL(syscall(SYS_futex, words, FUTEX_CMP_REQUEUE, 1, 1L, words + 1, 5));
    return 0;
}
