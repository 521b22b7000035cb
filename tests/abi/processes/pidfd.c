/* A descriptor of a process: poll, signal, wait. */
#include "abi.h"

static int child(void)
{
    for (;;)
        pause();
}
int main(void)
{
    struct pollfd source;
    siginfo_t info;
    pid_t pid = spawn(child);
    int fd = (int)MUST(syscall(434, pid, 0));
    source = (struct pollfd){.fd = fd, .events = POLLIN};
    CALL(poll(&source, 1, 0));
    CALL(syscall(424, fd, SIGKILL, NULL, 0));
    CALL(poll(&source, 1, 30000));
    CALL(waitid(3, (id_t)fd, &info, WEXITED));
    SHOW(info.si_status == SIGKILL);
    CALL(syscall(434, 999999, 0));
    return 0;
}
