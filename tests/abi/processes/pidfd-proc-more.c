/* Descriptors of /proc/PID and of pidfd_open: of another user's process, of one that has ended, in the other calls. */
#include "abi.h"

static pid_t pid;
static int by_name, by_call;

static int child(void)
{
    for (;;)
        pause();
}
static int as_user(void)
{
    MUST(setuid(4321));
    CALL(syscall(424, by_name, 0, NULL, 0));
    CALL(syscall(424, by_call, 0, NULL, 0));
    CALL(syscall(424, by_name, SIGTERM, NULL, 0));
    CALL(syscall(438, by_call, 0, 0));
    return 0;
}
int main(void)
{
    struct pollfd source;
    siginfo_t info;
    char name[64];
    union sigval value = {.sival_int = 7};

    pid = spawn(child);
    until_asleep(pid, pid);
    snprintf(name, sizeof(name), "/proc/%d", pid);
    by_name = (int)MUST(open(name, O_RDONLY | O_DIRECTORY));
    by_call = (int)MUST(syscall(434, pid, 0));
    reap(spawn(as_user));
    memset(&info, 0, sizeof(info));
    info.si_signo = SIGUSR1;
    info.si_code = SI_QUEUE;
    info.si_value = value;
    CALL(syscall(424, by_name, SIGUSR2, &info, 0));
    info.si_code = SI_USER;
    CALL(syscall(424, by_name, SIGUSR1, &info, 0));
    CALL(syscall(424, by_name, 0, (void *)8, 0));
    CALL(waitid((idtype_t)3, (id_t)by_name, &info, WEXITED | WNOHANG));
    CALL(waitid((idtype_t)3, (id_t)by_call, &info, WEXITED | WNOHANG));
    CALL(waitid((idtype_t)3, 99, &info, WEXITED | WNOHANG));
    CALL(waitid((idtype_t)3, 0, &info, WEXITED | WNOHANG));
    source = (struct pollfd){.fd = by_call, .events = POLLIN};
    CALL(poll(&source, 1, 0));
    CALL(read(by_call, name, 1));
    CALL(write(by_call, name, 1));
    CALL(lseek(by_call, 0, SEEK_SET));
    CALL(syscall(434, pid, 1));
    CALL(syscall(434, 0, 0));
    CALL(syscall(434, -1, 0));
    CALL(syscall(434, 999999, 0));
    MUST(kill(pid, SIGKILL));
    CALL(poll(&source, 1, -1));
    CALL(syscall(424, by_name, 0, NULL, 0));
    CALL(syscall(424, by_call, 0, NULL, 0));
    CALL(syscall(438, by_call, 0, 0));
    CALL(waitid((idtype_t)3, (id_t)by_call, &info, WEXITED));
    SHOW(info.si_status);
    CALL(waitid((idtype_t)3, (id_t)by_call, &info, WEXITED));
    CALL(syscall(424, by_name, 0, NULL, 0));
    CALL(syscall(424, by_call, 0, NULL, 0));
    CALL(syscall(438, by_call, 0, 0));
    CALL(poll(&source, 1, 0));
    return 0;
}
