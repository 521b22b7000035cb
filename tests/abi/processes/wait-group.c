/* waitpid waits for the children of a process group only. */
#include "abi.h"

static int number;
static int child(void)
{
    return number;
}
int main(void)
{
    int status;
    pid_t a, b;
    number = 1;
    a = spawn(child);
    number = 2;
    b = fork();
    if (b == 0) {
        setpgid(0, 0);
        raise(SIGSTOP);
        _exit(2);
    }
    MUST(waitpid(b, &status, WUNTRACED));
    kill(b, SIGCONT);
    SHOW(waitpid(-b, &status, 0) == b);
    tell_status(status);
    SHOW(waitpid(0, &status, 0) == a);
    tell_status(status);
    CALL(waitpid(-b, &status, 0) + 0 * b);
    return 0;
}
