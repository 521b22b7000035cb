/* A clone that shares descriptors shares them, one that does not has copies. */
#include "abi.h"

static char stack[2][65536] __attribute__((aligned(16)));
static int work(void *argument)
{
    close((int)(long)argument);
    return 0;
}
int main(void)
{
    int a = dup(0), b = dup(0);
    reap((pid_t)MUST(clone(work, stack[0] + 65536, SIGCHLD, (void *)(long)a)));
    CALL(fcntl(a, F_GETFD));
    reap((pid_t)MUST(clone(work, stack[1] + 65536, SIGCHLD | CLONE_FILES, (void *)(long)b)));
    CALL(fcntl(b, F_GETFD));
    return 0;
}
