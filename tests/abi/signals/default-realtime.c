/* Realtime signals kill, too. */
#include "abi.h"

static int child(void)
{
    raise(SIGRTMAX);
    return 0;
}
int main(void)
{
    int status;
    MUST(waitpid(spawn(child), &status, 0));
    SHOW(WIFSIGNALED(status) && WTERMSIG(status) == SIGRTMAX);
    return 0;
}
