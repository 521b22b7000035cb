/* waitid tells id, code and status, and can leave the child there. */
#include "abi.h"

static int child(void)
{
    return 33;
}
int main(void)
{
    siginfo_t info;
    pid_t pid = spawn(child);
    CALL(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
    printf("%s code %d status %d pid %d\n", signal_name(info.si_signo), info.si_code, info.si_status,
           info.si_pid == pid);
    CALL(waitid(P_PID, (id_t)pid, &info, 0));
    CALL(waitid(P_ALL, 0, &info, WEXITED));
    CALL(waitid(P_ALL, 0, &info, WEXITED));
    CALL(waitid(99, 0, &info, WEXITED));
    return 0;
}
