/* A pipe with O_NONBLOCK that is empty or full is EAGAIN. */
#include "abi.h"

int main(void)
{
    static char bytes[70000];
    int fds[2];
    long total = 0;
    MUST(pipe2(fds, O_NONBLOCK | O_CLOEXEC));
    SHOW(fcntl(fds[0], F_GETFD));
    CALL(read(fds[0], bytes, 1));
    CALL(write(fds[1], bytes, 70000));
    CALL(write(fds[1], bytes, 1));
    for (ssize_t n; (n = read(fds[0], bytes, 1000)) > 0;)
        total += n;
    SHOW(total);
    CALL(pipe2(fds, 99));
    return 0;
}
