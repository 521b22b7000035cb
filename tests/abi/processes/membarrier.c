/* membarrier's commands. */
#include "abi.h"

int main(void)
{
    SHOW(syscall(SYS_membarrier, 0, 0, 0) > 0);
    CALL(syscall(SYS_membarrier, 16, 0, 0));
    CALL(syscall(SYS_membarrier, 8, 0, 0));
    CALL(syscall(SYS_membarrier, 1, 0, 0));
    CALL(syscall(SYS_membarrier, 12345, 0, 0));
    CALL(syscall(SYS_membarrier, 8, 99, 0));
    return 0;
}
