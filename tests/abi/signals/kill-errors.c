/* What kill, tgkill and sigqueue refuse. */
#include "abi.h"

int main(void)
{
    CALL(kill(getpid(), 65));
    CALL(kill(getpid(), -1));
    CALL(kill(999999, 0));
    CALL(kill(getpid(), 0));
    CALL(kill(-999999, SIGTERM));
    CALL(syscall(SYS_tgkill, getpid(), 999999, SIGTERM));
    CALL(syscall(SYS_tgkill, 0, getpid(), SIGTERM));
    CALL(syscall(SYS_tgkill, 1, getpid(), SIGTERM));
    CALL(syscall(SYS_tkill, -1, SIGTERM));
    CALL(sigqueue(999999, SIGTERM, (union sigval){0}));
    return 0;
}
