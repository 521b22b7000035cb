/* What exec refuses, and that the program then goes on. */
#include "abi.h"

int main(void)
{
    char *arguments[] = {"x", NULL};
    static char text[200000];
    char *large[] = {"x", text, NULL};
    memset(text, 'x', sizeof(text) - 1);
    CALL(execv("/nowhere", arguments));
    CALL(execv("/proc/self/exe/x", arguments));
    CALL(execv("/proc", arguments));
    CALL(execv("/dev/null", arguments));
    CALL(execv("", arguments));
    CALL(execv("/proc/self/exe", large));
    CALL(execv("/proc/self/exe", (char **)8));
    return 5;
}
