/* fork returns in both, with the right ids. */
#include "abi.h"

static pid_t parent;
static int child(void)
{
    SHOW(getppid() == parent);
    SHOW(getpid() != parent);
    return 0;
}
int main(void)
{
    parent = getpid();
    pid_t pid = spawn(child);
    reap(pid);
    SHOW(pid > 0);
    return 0;
}
