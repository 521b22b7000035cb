/* The nice value of a group or of a user is also that of a thread that moves from CPU to CPU at that moment. */
#include "abi.h"

static int child(void)
{
    for (int i = 0;; i++)
        go(i);
}
int main(void)
{
    pid_t pid = spawn(child);
    int wrong = 0, lost = 0;

    MUST(setpgid(pid, pid));
    for (int i = 0; i < 300; i++) {
        MUST(setpriority(PRIO_PGRP, (id_t)pid, i % 20));
        wrong += getpriority(PRIO_PROCESS, (id_t)pid) != i % 20;
        lost += getpriority(PRIO_PGRP, (id_t)pid) != i % 20;
    }
    SHOW(wrong);
    SHOW(lost);
    MUST(kill(pid, SIGKILL));
    reap(pid);
    return 0;
}
