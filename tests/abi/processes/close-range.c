/* close_range closes, or marks for exec, a range of descriptors. */
#include "abi.h"

int main(void)
{
    for (int i = 10; i < 20; i++)
        MUST(dup2(0, i));
    CALL(syscall(SYS_close_range, 12u, 14u, 0));
    for (int i = 10; i < 16; i++)
        CALL(fcntl(i, F_GETFD));
    CALL(syscall(SYS_close_range, 15u, ~0u, 4));
    CALL(fcntl(15, F_GETFD));
    CALL(fcntl(19, F_GETFD));
    CALL(syscall(SYS_close_range, 5u, 4u, 0));
    CALL(syscall(SYS_close_range, 5u, 6u, 64));
    return 0;
}
