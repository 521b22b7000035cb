/* wait4 tells the usage of one child. */
#include "abi.h"

static int child(void)
{
    while (clock() < CLOCKS_PER_SEC / 30) {
    }
    return 0;
}
int main(void)
{
    struct rusage usage;
    int status;
    pid_t pid = spawn(child);
    SHOW(wait4(pid, &status, 0, &usage) == pid);
    SHOW(usage.ru_utime.tv_sec * 1000000 + usage.ru_utime.tv_usec + usage.ru_stime.tv_sec * 1000000 +
             usage.ru_stime.tv_usec >
         20000);
    tell_status(status);
    return 0;
}
