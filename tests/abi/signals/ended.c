/* A process that was not waited for, and a first thread that has ended before others, take signals without effect. */
#include "abi.h"

static pid_t own;
static int descriptor; /* of it */

static int child(void)
{
    return 3;
}
static void all(pid_t pid)
{
    siginfo_t info;

    memset(&info, 0, sizeof(info));
    info.si_code = SI_QUEUE;
    CALL(kill(pid, 0));
    CALL(syscall(SYS_tkill, pid, 0));
    CALL(syscall(SYS_tkill, pid, SIGTERM));
    CALL(syscall(SYS_tgkill, pid, pid, 0));
    CALL(syscall(SYS_tgkill, pid, pid, SIGUSR1));
    CALL(syscall(SYS_rt_tgsigqueueinfo, pid, pid, SIGUSR1, &info));
    CALL(syscall(SYS_rt_tgsigqueueinfo, pid, pid, 65, &info));
    CALL(syscall(SYS_rt_sigqueueinfo, pid, 65, &info));
    CALL(syscall(SYS_tgkill, getpid(), pid, 0) == 0 || getpid() == pid ? 0 : -1);
    CALL(syscall(SYS_tgkill, pid, pid, 65));
    CALL(syscall(SYS_tkill, pid, -1));
    CALL(kill(pid, 65));
    CALL(kill(-pid, 65));
    CALL(kill(-pid, 0));
    CALL(syscall(SYS_pidfd_send_signal, descriptor, 65, NULL, 0));
}
static int as_user(void)
{
    MUST(setuid(4321));
    all(own);
    return 0;
}
static void *rest(void *unused)
{
    char name[64], text[256] = "";

    snprintf(name, sizeof(name), "/proc/self/task/%d/stat", getpid());
    do {
        int fd = open(name, O_RDONLY);
        ssize_t count = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

        close(fd);
        text[count < 0 ? 0 : count] = '\0';
        sched_yield();
    } while (strstr(text, ") R") != NULL || strstr(text, ") S") != NULL);
    CALL(syscall(SYS_tgkill, getpid(), getpid(), 0));
    CALL(syscall(SYS_tgkill, getpid(), getpid(), SIGTERM));
    CALL(syscall(SYS_tkill, getpid(), SIGUSR1));
    fflush(stdout);
    _exit(4);
    return unused;
}
static int first_ends(void)
{
    start(rest, NULL);
    pthread_exit(NULL);
}
int main(void)
{
    siginfo_t info;

    own = spawn(child);
    MUST(waitid(P_PID, (id_t)own, &info, WEXITED | WNOWAIT));
    descriptor = (int)MUST(syscall(SYS_pidfd_open, own, 0));
    all(own);
    reap(spawn(as_user));
    reap(own);
    all(own);
    reap(spawn(first_ends));
    return 0;
}
