/* A registration of mq_notify ends with a close of any kind: of a copy, by dup2, by close_range, by exec. */
#include "abi.h"

#include <mqueue.h>

static struct sigevent none = {.sigev_notify = SIGEV_NONE};
static mqd_t watcher;

/* Whether somebody is registered. */
static void tell(const char *what)
{
    bool busy = mq_notify(watcher, &none) != 0;

    printf("%s: %s\n", what, busy ? errno_name(errno) : "free");
    if (!busy)
        MUST(mq_notify(watcher, NULL));
}
static mqd_t registered(void)
{
    mqd_t queue = (mqd_t)MUST(mq_open("/abi-ways", O_RDWR));

    MUST(mq_notify(queue, &none));
    return queue;
}
/* In a child, so that the watcher, another process, sees what is left. */
static int ways[2], go_on[2];
static void step(void)
{
    char byte = 'x';

    MUST(write(ways[1], &byte, 1));
    MUST(read(go_on[0], &byte, 1));
}
static int child(void)
{
    mqd_t queue = registered();
    int copy = (int)MUST(dup(queue));

    step();
    MUST(close(copy));
    step();
    queue = registered();
    MUST(dup2(0, queue));
    step();
    queue = registered();
    MUST(syscall(SYS_dup3, queue, 40, O_CLOEXEC));
    step();
    MUST(syscall(SYS_close_range, 40, 40, 0));
    step();
    queue = registered();
    MUST(syscall(SYS_close_range, 40, 40, 0));
    MUST(syscall(SYS_close_range, queue, queue, 4)); /* CLOSE_RANGE_CLOEXEC */
    step();
    MUST(mq_close(queue));
    step();
    registered();
    execl("/proc/self/exe", program_invocation_name, "again", NULL);
    return 99;
}
int main(int count, char **arguments)
{
    struct mq_attr facts = {.mq_maxmsg = 4, .mq_msgsize = 16};
    static const char *const steps[] = {"registered",     "a copy closed",     "dup2 over it", "another copy",
                                        "that is closed", "close_range marks", "mq_close"};
    char byte = 'x';
    pid_t pid;

    (void)arguments;
    if (count > 1) {
        MUST(write(108, &byte, 1)); /* ways[1] */
        MUST(read(107, &byte, 1));
        return 0;
    }
    watcher = (mqd_t)MUST(mq_open("/abi-ways", O_RDWR | O_CREAT, 0600, &facts));
    MUST(pipe(ways));
    MUST(pipe(go_on));
    MUST(dup2(ways[1], 108));
    MUST(dup2(go_on[0], 107));
    pid = spawn(child);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        MUST(read(ways[0], &byte, 1));
        tell(steps[i]);
        MUST(write(go_on[1], &byte, 1));
    }
    MUST(read(ways[0], &byte, 1));
    tell("exec");
    MUST(write(go_on[1], &byte, 1));
    reap(pid);
    CALL(mq_unlink("/abi-ways"));
    return 0;
}
