/* wait takes children in any order, then there is none. */
#include "abi.h"

static int number;
static int child(void)
{
    return number;
}
int main(void)
{
    int sum = 0, status;
    for (number = 1; number <= 5; number++)
        spawn(child);
    for (int i = 0; i < 5; i++) {
        MUST(wait(&status));
        sum += WEXITSTATUS(status);
    }
    SHOW(sum);
    CALL(wait(&status));
    CALL(waitpid(-1, &status, WNOHANG));
    CALL(waitpid(getpid(), &status, 0));
    CALL(waitpid(-1, &status, 0x10));
    return 0;
}
