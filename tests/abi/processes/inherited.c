/* What a child, a thread and a new program have of the attributes of a process, and what not. */
#include "abi.h"

static char *self;

static void tell(void)
{
    struct itimerval timer;
    int number = -1;
    char name[17] = "";
    sigset_t pending;
    stack_t stack;

    SHOW(prctl(PR_GET_TIMERSLACK));
    if (gettid() == getpid()) {
        CALL(prctl(PR_GET_PDEATHSIG, &number));
        SHOW(number);
    }
    CALL(prctl(PR_GET_CHILD_SUBREAPER, &number));
    SHOW(number);
    SHOW(prctl(PR_GET_DUMPABLE));
    SHOW(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
    SHOW(prctl(PR_GET_KEEPCAPS));
    MUST(prctl(PR_GET_NAME, name));
    TEXT(name);
    MUST(getitimer(ITIMER_REAL, &timer));
    SHOW(timer.it_value.tv_sec > 0);
    SHOW(alarm(0) > 0);
    sigpending(&pending);
    SHOW(sigismember(&pending, SIGUSR1));
    MUST(sigaltstack(NULL, &stack));
    SHOW(stack.ss_flags);
    SHOW(getpriority(PRIO_PROCESS, 0));
    SHOW(sched_getscheduler(0));
    fflush(stdout);
}
static int child(void)
{
    tell();
    return 0;
}
static void *thread(void *unused)
{
    tell();
    return unused;
}
static int new_program(void)
{
    MUST(prctl(PR_SET_TIMERSLACK, 90000));
    MUST(prctl(PR_SET_PDEATHSIG, SIGUSR2));
    MUST(prctl(PR_SET_CHILD_SUBREAPER, 1));
    alarm(100);
    MUST(raise(SIGUSR1));
    execl("/proc/self/exe", self, "again", NULL);
    return 99;
}
static int reset_on_fork(void)
{
    struct sched_param parameters = {.sched_priority = 5};

    MUST(sched_setscheduler(0, SCHED_FIFO | 0x40000000, &parameters) == -1
             ? syscall(SYS_sched_setscheduler, 0, SCHED_FIFO | 0x40000000, &parameters)
             : 0);
    SHOW(syscall(SYS_sched_getscheduler, 0));
    fflush(stdout);
    if (fork() == 0) {
        SHOW(syscall(SYS_sched_getscheduler, 0));
        SHOW(getpriority(PRIO_PROCESS, 0));
        fflush(stdout);
        _exit(0);
    }
    MUST(wait(NULL));
    return 0;
}
int main(int count, char **arguments)
{
    static char stack[65536];
    sigset_t set = set_of(SIGUSR1);

    self = arguments[0];
    if (count > 1) {
        tell();
        return 0;
    }
    MUST(prctl(PR_SET_NAME, "parent"));
    MUST(prctl(PR_SET_TIMERSLACK, 70000));
    MUST(prctl(PR_SET_PDEATHSIG, SIGUSR1));
    MUST(prctl(PR_SET_CHILD_SUBREAPER, 1));
    MUST(prctl(PR_SET_KEEPCAPS, 1));
    MUST(prctl(PR_SET_DUMPABLE, 0));
    MUST(sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof(stack)}, NULL));
    MUST(sigprocmask(SIG_BLOCK, &set, NULL));
    MUST(raise(SIGUSR1));
    MUST(setpriority(PRIO_PROCESS, 0, 3));
    alarm(1000);
    printf("child\n");
    reap(spawn(child));
    printf("thread\n");
    fflush(stdout);
    pthread_join(start(thread, NULL), NULL);
    MUST(prctl(PR_SET_DUMPABLE, 1));
    printf("program\n");
    reap(spawn(new_program));
    printf("reset\n");
    reap(spawn(reset_on_fork));
    return 0;
}
