/* SIGCHLD, waitid and signalfd tell the real user of a child: at its end, and when it stops and goes on. */
#include "abi.h"

static volatile sig_atomic_t seen;
static siginfo_t got;

static void handler(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    got = *info;
    seen = 1;
}
static void tell_signal(const char *what)
{
    while (!seen)
        sleep_ms(1);
    seen = 0;
    printf("%s: code %d user %d status %d\n", what, got.si_code, (int)got.si_uid, got.si_status);
}
static void tell_wait(const char *what, idtype_t type, pid_t pid, int options)
{
    siginfo_t info = {0};

    MUST(waitid(type, (id_t)pid, &info, options));
    printf("%s: code %d user %d status %d\n", what, info.si_code, (int)info.si_uid, info.si_status);
}
static int exits(void)
{
    MUST(setuid(4321));
    return 7;
}
static int waits(void)
{
    MUST(setresuid(4321, 4322, 4323)); /* the real one counts */
    for (;;)
        pause();
}
static int of_root(void)
{
    return 0;
}
static int has_orphan(void)
{
    spawn(exits);
    sleep_ms(50);
    return 0;
}
int main(void)
{
    sigset_t set = set_of(SIGCHLD);
    struct signalfd_siginfo told;
    pid_t pid;
    int fd;

    on_info(SIGCHLD, handler, 0);
    pid = spawn(of_root);
    tell_signal("root");
    tell_wait("root", P_PID, pid, WEXITED);
    pid = spawn(exits);
    tell_signal("exited");
    tell_wait("kept", P_PID, pid, WEXITED | WNOWAIT);
    tell_wait("exited", P_PID, pid, WEXITED);
    go(1);
    pid = spawn(waits);
    go(0);
    until_asleep(pid, pid);
    MUST(kill(pid, SIGSTOP));
    tell_signal("stopped");
    tell_wait("stopped", P_PID, pid, WSTOPPED);
    MUST(kill(pid, SIGCONT));
    tell_signal("continued");
    tell_wait("continued", P_PID, pid, WCONTINUED);
    MUST(kill(pid, SIGKILL));
    tell_signal("killed");
    tell_wait("killed", P_PID, pid, WEXITED);
    MUST(prctl(PR_SET_CHILD_SUBREAPER, 1));
    on_signal(SIGCHLD, SIG_DFL, 0);
    reap(spawn(has_orphan));
    tell_wait("orphan", P_ALL, 0, WEXITED);
    MUST(sigprocmask(SIG_BLOCK, &set, NULL));
    fd = (int)MUST(signalfd(-1, &set, 0));
    pid = spawn(exits);
    MUST(read(fd, &told, sizeof(told)));
    printf("signalfd: user %u status %d\n", told.ssi_uid, told.ssi_status);
    reap(pid);
    return 0;
}
