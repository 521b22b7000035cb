/* A descriptor of signals: read, poll, non-blocking. */
#include "abi.h"

int main(void)
{
    sigset_t set = set_of(SIGUSR1);
    struct signalfd_siginfo info;
    struct pollfd source;
    int fd;
    sigaddset(&set, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &set, NULL);
    fd = (int)MUST(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
    CALL(read(fd, &info, sizeof(info)));
    source = (struct pollfd){.fd = fd, .events = POLLIN};
    CALL(poll(&source, 1, 0));
    kill(getpid(), SIGUSR1);
    sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 9});
    CALL(poll(&source, 1, 0));
    CALL(read(fd, &info, sizeof(info)));
    printf("%s code %d pid %d\n", signal_name((int)info.ssi_signo), info.ssi_code, (pid_t)info.ssi_pid == getpid());
    CALL(read(fd, &info, sizeof(info)));
    printf("+%d value %d\n", (int)info.ssi_signo - SIGRTMIN, info.ssi_int);
    CALL(read(fd, &info, 10));
    CALL(signalfd(99, &set, 0));
    return 0;
}
