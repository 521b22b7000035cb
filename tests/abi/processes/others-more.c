/* Calls on other processes that change them or reach into them: of another user, of none. */
#include "others.h"

static char memory[64];

static void one(const char *what, pid_t pid)
{
    struct iovec here = {(char[64]){0}, 64}, there = {memory, 64};
    struct sched_param parameters = {.sched_priority = 3};
    struct rlimit limit = {1024, 4096};
    struct capability_head capability = {0x20080522, pid};
    unsigned long nodes = 1;
    void *page = (void *)((uintptr_t)memory & ~(uintptr_t)(PAGE - 1));
    uint32_t data[6];
    int status;
    cpu_set_t set;
    char name[64];

    printf("%s:\n", what);
    CALL(syscall(SYS_process_vm_readv, pid, &here, 1L, &there, 1L, 0L));
    CALL(syscall(SYS_process_vm_writev, pid, &here, 1L, &there, 1L, 0L));
    CALL(syscall(SYS_migrate_pages, pid, 2L, &nodes, &nodes));
    CALL(syscall(SYS_move_pages, pid, 1L, &page, NULL, &status, 0));
    CALL(syscall(SYS_prlimit64, pid, RLIMIT_CORE, &limit, NULL));
    CALL(syscall(SYS_prlimit64, pid, RLIMIT_CORE, NULL, &limit));
    CALL(syscall(SYS_prlimit64, pid, 99, NULL, &limit));
    CALL(syscall(SYS_sched_setscheduler, pid, 77, &parameters));
    CALL(syscall(SYS_sched_setscheduler, pid, SCHED_OTHER, &parameters));
    CALL(syscall(SYS_sched_setparam, pid, NULL));
    CALL(syscall(SYS_sched_getparam, pid, NULL));
    CALL(syscall(SYS_sched_getattr, pid, data, 8, 0));
    CPU_ZERO(&set);
    CALL(syscall(SYS_sched_setaffinity, pid, sizeof(set), &set));
    CALL(syscall(SYS_sched_getaffinity, pid, 3, &set));
    CALL(syscall(SYS_setpriority, PRIO_PROCESS, pid, 1));
    CALL(syscall(SYS_setpriority, PRIO_PROCESS, pid, 0));
    CALL(syscall(SYS_tkill, pid, 65));
    CALL(syscall(SYS_tgkill, pid, pid + 1, 0));
    CALL(syscall(SYS_tgkill, getpid(), pid, 0));
    CALL(kill(pid, 65));
    capability.version = 0x19980330;
    CALL(syscall(SYS_capget, &capability, data));
    capability.version = 7;
    CALL(syscall(SYS_capget, &capability, data));
    CALL(syscall(SYS_capget, &capability, NULL));
    CALL(syscall(434, pid, 0) < 0 ? -1 : 0);
    CALL(waitpid(pid, &status, WNOHANG | WUNTRACED) == 0 ? 0 : -1);
    snprintf(name, sizeof(name), "/proc/%d/environ", pid);
    CALL(open(name, O_RDONLY) < 0 ? -1 : 0);
    snprintf(name, sizeof(name), "/proc/%d/mem", pid);
    CALL(open(name, O_RDWR) < 0 ? -1 : 0);
    snprintf(name, sizeof(name), "/proc/%d/stat", pid);
    CALL(open(name, O_RDONLY) < 0 ? -1 : 0);
}
static void all(void)
{
    one("a process of root", of_root);
    one("a process of a user", of_user);
    one("no process", none);
}
static int as_user(void)
{
    MUST(setuid(1234));
    all();
    return 0;
}
static int as_same_user(void)
{
    MUST(setuid(4321));
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
    printf("as the same user\n");
    reap(spawn(as_same_user));
    end_others();
    return 0;
}
