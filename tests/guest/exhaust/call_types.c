/* The types of arguments of system calls. See the header. Names and numbers are those of kernel/abi/syscalls.def. */
#include "tests/guest/exhaust/call_types.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static const char *const names[] = {
#define ABSENT(number, name) [number] = NULL,
#define CALL(number, name, function, status) [number] = #name,
#include "kernel/abi/syscalls.def"
};

static const struct {
    const char *name, *types;
} listed[] = {
    {"read", "fps"},
    {"write", "fps"},
    {"open", "Pin"},
    {"openat", "fPin"},
    {"close", "f"},
    {"stat", "Pp"},
    {"fstat", "fp"},
    {"lstat", "Pp"},
    {"newfstatat", "fPpi"},
    {"statx", "fPiip"},
    {"poll", "pnn"},
    {"ppoll", "pnppz"},
    {"select", "npppp"},
    {"lseek", "fon"},
    {"mmap", "alnifo"},
    {"mprotect", "aln"},
    {"munmap", "al"},
    {"mremap", "allna"},
    {"madvise", "aln"},
    {"msync", "aln"},
    {"mincore", "alp"},
    {"mlock", "al"},
    {"munlock", "al"},
    {"mbind", "alnpnn"},
    {"move_pages", "tnpppn"},
    {"brk", "a"},
    {"rt_sigaction", "gppn"},
    {"rt_sigprocmask", "nppn"},
    {"rt_sigpending", "pn"},
    {"rt_sigtimedwait", "pppn"},
    {"rt_sigqueueinfo", "tgp"},
    {"rt_tgsigqueueinfo", "ttgp"},
    {"sigaltstack", "pp"},
    {"ioctl", "fxp"},
    {"pread64", "fpso"},
    {"pwrite64", "fpso"},
    {"readv", "fvn"},
    {"writev", "fvn"},
    {"preadv", "fvno"},
    {"pwritev", "fvno"},
    {"access", "Pn"},
    {"pipe", "p"},
    {"pipe2", "pi"},
    {"dup", "f"},
    {"dup2", "ff"},
    {"dup3", "ffi"},
    {"fcntl", "fnx"},
    {"nanosleep", "pp"},
    {"clock_gettime", "cp"},
    {"clock_nanosleep", "cnpp"},
    {"getitimer", "np"},
    {"setitimer", "npp"},
    {"timer_create", "cpp"},
    {"timer_settime", "nipp"},
    {"timer_gettime", "np"},
    {"timer_delete", "n"},
    {"sendfile", "ffps"},
    {"splice", "fpfpsi"},
    {"tee", "ffsi"},
    {"vmsplice", "fvni"},
    {"copy_file_range", "fpfpsi"},
    {"socket", "nnn"},
    {"socketpair", "nnnp"},
    {"connect", "fps"},
    {"accept", "fpp"},
    {"accept4", "fppi"},
    {"bind", "fps"},
    {"listen", "fn"},
    {"sendto", "fpsips"},
    {"recvfrom", "fpsipp"},
    {"sendmsg", "fpi"},
    {"recvmsg", "fpi"},
    {"sendmmsg", "fpni"},
    {"recvmmsg", "fpnip"},
    {"shutdown", "fn"},
    {"getsockopt", "fnnpp"},
    {"setsockopt", "fnnps"},
    {"clone", "ippppz"},
    {"clone3", "ps"},
    {"fork", ""},
    {"execve", "Ppp"},
    {"execveat", "fPppi"},
    {"wait4", "tpip"},
    {"waitid", "ntpip"},
    {"kill", "tg"},
    {"tkill", "tg"},
    {"tgkill", "ttg"},
    {"getpgid", "t"},
    {"setpgid", "tt"},
    {"getsid", "t"},
    {"semget", "nni"},
    {"semop", "npn"},
    {"semctl", "nnnp"},
    {"msgget", "ni"},
    {"msgsnd", "npsi"},
    {"msgrcv", "npsni"},
    {"msgctl", "nnp"},
    {"shmget", "nsi"},
    {"shmat", "nai"},
    {"shmdt", "a"},
    {"shmctl", "nnp"},
    {"mq_open", "Pinp"},
    {"mq_timedsend", "fpsnp"},
    {"mq_timedreceive", "fpspp"},
    {"truncate", "Po"},
    {"ftruncate", "fo"},
    {"fallocate", "fioo"},
    {"getdents64", "fps"},
    {"getcwd", "ps"},
    {"chdir", "P"},
    {"fchdir", "f"},
    {"rename", "PP"},
    {"renameat2", "fPfPi"},
    {"mkdir", "Pn"},
    {"mkdirat", "fPn"},
    {"rmdir", "P"},
    {"link", "PP"},
    {"linkat", "fPfPi"},
    {"unlink", "P"},
    {"unlinkat", "fPi"},
    {"symlink", "PP"},
    {"readlink", "Pps"},
    {"chmod", "Pn"},
    {"mknod", "Pxn"},
    {"setxattr", "PPpsi"},
    {"getxattr", "PPps"},
    {"listxattr", "Pps"},
    {"inotify_add_watch", "fPi"},
    {"inotify_rm_watch", "fn"},
    {"epoll_create1", "i"},
    {"epoll_ctl", "fnfp"},
    {"epoll_wait", "fpnn"},
    {"epoll_pwait", "fpnnpn"},
    {"eventfd2", "ni"},
    {"timerfd_create", "ci"},
    {"timerfd_settime", "fipp"},
    {"timerfd_gettime", "fp"},
    {"signalfd4", "fpni"},
    {"memfd_create", "Pi"},
    {"pidfd_open", "ti"},
    {"pidfd_send_signal", "fgpi"},
    {"pidfd_getfd", "ffi"},
    {"process_vm_readv", "tvnvnz"},
    {"process_vm_writev", "tvnvnz"},
    {"futex", "pnnppn"},
    {"futex_waitv", "pnipc"},
    {"set_robust_list", "pn"},
    {"get_robust_list", "tpp"},
    {"set_tid_address", "p"},
    {"sched_setaffinity", "tnp"},
    {"sched_getaffinity", "tnp"},
    {"sched_setscheduler", "tnp"},
    {"sched_setattr", "tpn"},
    {"setpriority", "ntn"},
    {"prlimit64", "tnpp"},
    {"setrlimit", "np"},
    {"prctl", "nxxxx"},
    {"arch_prctl", "xp"},
    {"membarrier", "nin"},
    {"rseq", "pnnx"},
    {"set_mempolicy", "npn"},
    {"get_mempolicy", "ppnan"},
    {"migrate_pages", "tnpp"},
    {"getrandom", "psi"},
    {"sysinfo", "p"},
    {"uname", "p"},
};

/* Calls that end or stop the thread that makes them, before the others have done anything. */
static const char *const unwanted[] = {"exit", "exit_group", "rt_sigreturn", "pause", "rt_sigsuspend", "vfork"};

long call_types_last(void)
{
    return (long)(sizeof(names) / sizeof(names[0])) - 1;
}

static const char *call_name(long number)
{
    return number >= 0 && number <= call_types_last() ? names[number] : NULL;
}

const char *call_types(long number)
{
    const char *name = call_name(number);

    if (name == NULL)
        return NULL;
    for (size_t i = 0; i < sizeof(unwanted) / sizeof(unwanted[0]); i++) {
        if (strcmp(name, unwanted[i]) == 0)
            return NULL;
    }
    for (size_t i = 0; i < sizeof(listed) / sizeof(listed[0]); i++) {
        if (strcmp(name, listed[i].name) == 0)
            return listed[i].types;
    }
    return "xxxxxx";
}
