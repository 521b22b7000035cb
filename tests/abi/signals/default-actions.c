/* What each signal does to a process that has no handler. */
#include "abi.h"

static int number;
static int child(void)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    kill(getpid(), number);
    return 0;
}
int main(void)
{
    for (number = 1; number < 32; number++) {
        int status;
        pid_t pid;
        if (number == SIGSTOP || number == SIGTSTP || number == SIGTTIN || number == SIGTTOU)
            continue;
        pid = spawn(child);
        MUST(waitpid(pid, &status, 0));
        printf("%s: ", signal_name(number));
        tell_status(status);
    }
    return 0;
}
