/* exec closes descriptors with FD_CLOEXEC and keeps the others, with their offsets. */
#include "abi.h"

int main(int argc, char **argv)
{
    int fds[2];
    char byte;
    if (argc == 2) {
        CALL(fcntl(10, F_GETFD));
        CALL(fcntl(11, F_GETFD));
        CALL(fcntl(12, F_GETFD));
        CALL(read(10, &byte, 1));
        SHOW(byte);
        return 0;
    }
    MUST(pipe(fds));
    MUST(write(fds[1], "ab", 2));
    MUST(read(fds[0], &byte, 1));
    MUST(dup2(fds[0], 10));
    MUST(dup3(fds[0], 11, O_CLOEXEC));
    MUST(dup2(fds[1], 12));
    MUST(fcntl(12, F_SETFD, FD_CLOEXEC));
    execl("/proc/self/exe", argv[0], "again", (char *)NULL);
    return 1;
}
