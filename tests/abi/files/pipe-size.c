/* F_GETPIPE_SZ and F_SETPIPE_SZ; FIONREAD of a pipe. */
#include "abi.h"

int main(void)
{
    int fds[2], count;
    MUST(pipe(fds));
    CALL(fcntl(fds[0], F_GETPIPE_SZ));
    CALL(fcntl(fds[0], F_SETPIPE_SZ, 4096));
    CALL(fcntl(fds[1], F_GETPIPE_SZ));
    MUST(write(fds[1], "12345", 5));
    CALL(ioctl(fds[0], FIONREAD, &count));
    SHOW(count);
    struct stat facts;
    MUST(fstat(fds[0], &facts));
    SHOW(S_ISFIFO(facts.st_mode));
    return 0;
}
