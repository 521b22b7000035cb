/* Ignored signals do nothing, not even when they were blocked. */
#include "abi.h"

int main(void)
{
    sigset_t set = set_of(SIGTERM);
    signal(SIGTERM, SIG_IGN);
    raise(SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    raise(SIGTERM);
    MUST(sigpending(&set));
    SHOW(sigismember(&set, SIGTERM));
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    return 4;
}
