/* Of several pending signals those with low numbers are fetched first. */
#include "abi.h"

int main(void)
{
    sigset_t set = set_of(SIGUSR1);
    int number;
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &set, NULL);
    kill(getpid(), SIGRTMIN);
    kill(getpid(), SIGTERM);
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGHUP);
    for (int i = 0; i < 4; i++) {
        MUST(sigwait(&set, &number) == 0 ? 0 : -1);
        printf("%s\n", number == SIGRTMIN ? "RTMIN" : signal_name(number));
    }
    return 0;
}
