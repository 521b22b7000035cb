/* What calls on other processes say: of another user; of process 1, and of none. */
#include "others.h"

static void one(const char *what, pid_t pid)
{
    struct sched_param parameters;
    struct timespec time;
    struct rlimit limit;
    siginfo_t info;
    clockid_t clock;
    cpu_set_t set;
    void *head;
    size_t size;
    uint32_t data[6];
    struct capability_head capability = {0x20080522, pid};
    char attr[48] = {48};

    printf("%s:\n", what);
    memset(&info, 0, sizeof(info));
    info.si_code = SI_QUEUE;
    CALL(kill(pid, 0));
    CALL(syscall(SYS_rt_sigqueueinfo, pid, 0, &info));
    CALL(syscall(SYS_tkill, pid, 0));
    CALL(syscall(SYS_tgkill, pid, pid, 0));
    CALL(syscall(SYS_rt_tgsigqueueinfo, pid, pid, 0, &info));
    info.si_code = SI_USER;
    CALL(syscall(SYS_rt_sigqueueinfo, pid, 0, &info));
    CALL(syscall(SYS_get_robust_list, pid, &head, &size));
    CODE(clock_getcpuclockid(pid, &clock));
    CALL(clock_gettime((int)(~(unsigned)pid << 3 | 2), &time));
    CALL(clock_gettime((int)(~(unsigned)pid << 3 | 6), &time));
    CALL(syscall(SYS_sched_getparam, pid, &parameters));
    CALL(syscall(SYS_sched_getscheduler, pid));
    CALL(syscall(SYS_sched_rr_get_interval, pid, &time));
    parameters.sched_priority = 0;
    CALL(syscall(SYS_sched_setparam, pid, &parameters));
    CALL(syscall(SYS_sched_setscheduler, pid, SCHED_OTHER, &parameters));
    CALL(syscall(SYS_sched_getattr, pid, attr, 48, 0));
    CALL(syscall(SYS_sched_setattr, pid, attr, 0));
    CALL(sched_getaffinity(pid, sizeof(set), &set) > 0 ? 0 : -1);
    CPU_ZERO(&set);
    for (int i = 0; i < 4; i++)
        CPU_SET(i, &set);
    CALL(sched_setaffinity(pid, sizeof(set), &set));
    CALL(getpriority(PRIO_PROCESS, (id_t)pid));
    CALL(setpriority(PRIO_PROCESS, (id_t)pid, 0));
    CALL(getpgid(pid) > 0 || errno == 0 ? 0 : -1);
    CALL(getsid(pid) >= 0 ? 0 : -1);
    CALL(setpgid(pid, 0));
    CALL(prlimit(pid, RLIMIT_NOFILE, NULL, &limit));
    CALL(syscall(SYS_capget, &capability, data));
}
static void all(void)
{
    one("process 1", 1);
    one("a process of root", of_root);
    one("a process of a user", of_user);
    one("no process", none);
    one("a negative id", -5);
}
static int as_user(void)
{
    MUST(setuid(1234));
    all();
    return 0;
}
int main(void)
{
    begin_others();
    printf("as root\n");
    all();
    printf("as a user\n");
    reap(spawn(as_user));
    end_others();
    return 0;
}
