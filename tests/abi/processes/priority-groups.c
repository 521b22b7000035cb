/* Nice values of process groups and of users. */
#include "abi.h"

static int child(void)
{
    for (;;)
        pause();
}
static int as_user(void)
{
    MUST(setpgid(0, 0));
    MUST(setuid(4321));
    return child();
}
static int asks_user(void)
{
    pid_t other;

    MUST(setpgid(0, 0));
    MUST(setuid(4321));
    other = spawn(child);
    CALL(getpriority(PRIO_USER, 0));
    CALL(setpriority(PRIO_USER, 0, 12));
    SHOW(getpriority(PRIO_PROCESS, (id_t)other));
    CALL(setpriority(PRIO_USER, 0, 11));
    CALL(setpriority(PRIO_PGRP, 0, 11));
    CALL(setpriority(PRIO_PGRP, (id_t)getppid(), 15));
    CALL(setpriority(PRIO_USER, 4999, 15));
    CALL(setpriority(PRIO_PGRP, 0, 13));
    SHOW(getpriority(PRIO_PROCESS, (id_t)other));
    MUST(kill(other, SIGKILL));
    reap(other);
    return 0;
}
int main(void)
{
    pid_t one = spawn(child), two = spawn(child), user;
    pid_t group = one;

    MUST(setpgid(one, group));
    MUST(setpgid(two, group));
    CALL(getpriority(PRIO_PGRP, (id_t)group));
    CALL(setpriority(PRIO_PROCESS, (id_t)two, 5));
    CALL(getpriority(PRIO_PGRP, (id_t)group)); /* the least nice */
    CALL(setpriority(PRIO_PGRP, (id_t)group, 7));
    SHOW(getpriority(PRIO_PROCESS, (id_t)one));
    SHOW(getpriority(PRIO_PROCESS, (id_t)two));
    CALL(getpriority(PRIO_PGRP, 0));
    CALL(setpriority(PRIO_PGRP, 0, 3));
    SHOW(getpriority(PRIO_PROCESS, 0));
    SHOW(getpriority(PRIO_PROCESS, (id_t)one));
    CALL(getpriority(PRIO_PGRP, 999999));
    CALL(setpriority(PRIO_PGRP, 999999, 3));
    CALL(getpriority(PRIO_USER, 999999));
    CALL(setpriority(PRIO_USER, 999999, 3));
    CALL(getpriority(PRIO_PGRP, (id_t)-1));
    user = spawn(as_user);
    until_asleep(user, user);
    CALL(getpriority(PRIO_USER, 4321));
    CALL(setpriority(PRIO_USER, 4321, 9));
    CALL(getpriority(PRIO_USER, 4321));
    SHOW(getpriority(PRIO_PROCESS, (id_t)user));
    reap(spawn(asks_user));
    SHOW(getpriority(PRIO_PROCESS, (id_t)user));
    kill(one, SIGKILL);
    kill(two, SIGKILL);
    kill(user, SIGKILL);
    return 0;
}
