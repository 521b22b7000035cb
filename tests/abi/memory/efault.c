/* Calls with bad addresses return EFAULT and kill nobody. */
#include "abi.h"

int main(void)
{
    char *a = MAP(2 * PAGE, MAP_PRIVATE);
    int fds[2];
    MUST(munmap(a + PAGE, PAGE));
    MUST(pipe(fds));
    CALL(syscall(SYS_pipe, NULL));
    CALL(write(fds[1], a + PAGE, 10));
    CALL(syscall(SYS_open, NULL, O_RDONLY));
    CALL(syscall(SYS_uname, a + PAGE));
    CALL(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, a + PAGE));
    CALL(syscall(SYS_rt_sigprocmask, SIG_BLOCK, a + PAGE, NULL, 8));
    CALL(syscall(SYS_execve, "/nowhere", NULL, 1L));
    CALL(syscall(SYS_uname, a + PAGE - 100));
    CALL(write(fds[1], (char *)0xffffffff80000000ul, 10));
    return 0;
}
