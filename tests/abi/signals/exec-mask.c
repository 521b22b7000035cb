/* exec keeps mask, pending and ignored signals, and resets handlers. */
#include "abi.h"

static void handler(int n)
{
    say(n == SIGUSR1 ? "handler\n" : "?\n");
}
int main(int argc, char **argv)
{
    sigset_t set = set_of(SIGUSR2);
    struct sigaction action;
    if (argc == 1) {
        on_signal(SIGUSR1, handler, 0);
        signal(SIGHUP, SIG_IGN);
        sigprocmask(SIG_BLOCK, &set, NULL);
        raise(SIGUSR2);
        execl("/proc/self/exe", argv[0], "again", (char *)NULL);
        MUST(-1);
    }
    sigaction(SIGUSR1, NULL, &action);
    SHOW(action.sa_handler == SIG_DFL);
    sigaction(SIGHUP, NULL, &action);
    SHOW(action.sa_handler == SIG_IGN);
    sigprocmask(SIG_SETMASK, NULL, &set);
    SHOW(sigismember(&set, SIGUSR2));
    sigpending(&set);
    SHOW(sigismember(&set, SIGUSR2));
    return 0;
}
