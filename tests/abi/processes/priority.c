/* Nice values are set, told, bounded and inherited. */
#include "abi.h"

static int child(void)
{
    errno = 0;
    SHOW(getpriority(PRIO_PROCESS, 0));
    return 0;
}
int main(void)
{
    SHOW(getpriority(PRIO_PROCESS, 0));
    CALL(nice(5));
    SHOW(getpriority(PRIO_PROCESS, 0));
    reap(spawn(child));
    CALL(setpriority(PRIO_PROCESS, 0, 100));
    SHOW(getpriority(PRIO_PROCESS, 0));
    CALL(setpriority(PRIO_PROCESS, 0, -5));
    SHOW(getpriority(PRIO_PROCESS, 0));
    CALL(setpriority(9, 0, 0));
    CALL(getpriority(PRIO_PROCESS, 999999));
    return 0;
}
