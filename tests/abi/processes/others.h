/* Processes of others, for programs that show what calls on them say: one of root, one of a user, none. */
#ifndef TESTS_ABI_PROCESSES_OTHERS_H
#define TESTS_ABI_PROCESSES_OTHERS_H

#include "abi.h"

static pid_t of_root, of_user;
static const pid_t none = 999999;

struct capability_head {
    uint32_t version;
    int pid;
};

static int child(void)
{
    for (;;)
        pause();
}
static int child_of_user(void)
{
    MUST(setuid(4321));
    return child();
}
static void begin_others(void)
{
    of_root = spawn(child);
    of_user = spawn(child_of_user);
    until_asleep(of_root, of_root);
    until_asleep(of_user, of_user);
}
static void end_others(void)
{
    kill(of_root, SIGKILL);
    kill(of_user, SIGKILL);
}

#endif
