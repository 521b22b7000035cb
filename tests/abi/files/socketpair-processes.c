/* Parent and child on different CPUs talk over a pair of sockets. */
#include "abi.h"

static int fds[2];
static int child(void)
{
    int number;
    go(1);
    close(fds[0]);
    while (read(fds[1], &number, sizeof(number)) == sizeof(number)) {
        number *= 2;
        MUST(write(fds[1], &number, sizeof(number)));
    }
    return 0;
}
int main(void)
{
    long sum = 0;
    int number;
    pid_t pid;
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
    pid = spawn(child);
    close(fds[1]);
    for (int i = 0; i < 50; i++) {
        MUST(write(fds[0], &i, sizeof(i)));
        MUST(read(fds[0], &number, sizeof(number)));
        sum += number;
    }
    close(fds[0]);
    reap(pid);
    SHOW(sum);
    return 0;
}
