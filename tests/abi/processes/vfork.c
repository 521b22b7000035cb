/* vfork's parent goes on when the child has ended or executed. */
#include "abi.h"

int main(int argc, char **argv)
{
    volatile int steps = 0;
    pid_t pid;
    if (argc == 2)
        return 7;
    pid = vfork();
    if (pid == 0) {
        steps++;
        _exit(5);
    }
    SHOW(steps);
    reap(pid);
    pid = vfork();
    if (pid == 0) {
        steps++;
        execl("/proc/self/exe", argv[0], "again", (char *)NULL);
        _exit(6);
    }
    SHOW(steps);
    reap(pid);
    return 0;
}
