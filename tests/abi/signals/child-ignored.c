/* With SIGCHLD ignored, or SA_NOCLDWAIT, children leave nothing to wait for. */
#include "abi.h"

static int leave(void)
{
    return 9;
}
int main(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT};
    signal(SIGCHLD, SIG_IGN);
    spawn(leave);
    CALL(wait(NULL));
    sigaction(SIGCHLD, &action, NULL);
    spawn(leave);
    CALL(wait(NULL));
    return 0;
}
