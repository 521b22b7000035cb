/* A wait for a value that is not there returns at once. */
#include "abi.h"

int main(void)
{
    uint32_t word = 5;
    CALL(syscall(SYS_futex, &word, FUTEX_WAIT, 4, NULL, NULL, 0));
    CALL(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 4, NULL, NULL, 0));
    CALL(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 4, NULL, NULL, -1));
    return 0;
}
