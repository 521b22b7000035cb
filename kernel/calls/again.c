/* Which calls may begin again after they were refused memory. See the header. */
#include "kernel/abi/kettle.h"
#include "kernel/calls/calls.h"

#define EXCLUSIVE 0200u /* O_EXCL */
#define FIXED 0x10u     /* MAP_FIXED */
#define FUTEX_WAIT 0u
#define FUTEX_WAKE 1u
#define FUTEX_PRIVATE 128u

enum number {
#define ABSENT(number, name) NUMBER_##name = number,
#define CALL(number, name, function, status) NUMBER_##name = number,
#include "kernel/abi/syscalls.def"
};

/* Each changes nothing before it is refused, undoes what it has changed, or does the same once more. Not here: what
 * takes something that comes once (a message, a connection), waits for a time that it is told, does something to
 * several, some of which it may have reached, or leaves a hole in the address space, which another thread may fill
 * before the call begins again. */
static bool begins_again(uint64_t number)
{
    switch (number) {
    case NUMBER_mprotect:
    case NUMBER_brk:
    case NUMBER_madvise:
    case NUMBER_msync:
    case NUMBER_mincore:
    case NUMBER_mlock:
    case NUMBER_mlock2:
    case NUMBER_mlockall:
    case NUMBER_munlock:
    case NUMBER_mbind:
    case NUMBER_get_mempolicy:
    case NUMBER_migrate_pages:
    case NUMBER_move_pages:
    case NUMBER_fork:
    case NUMBER_vfork:
    case NUMBER_clone:
    case NUMBER_clone3:
    case NUMBER_execve:
    case NUMBER_execveat:
    case NUMBER_wait4:
    case NUMBER_waitid:
    case NUMBER_tkill:
    case NUMBER_tgkill:
    case NUMBER_sched_setaffinity:
    case NUMBER_sched_getaffinity:
    case NUMBER_prlimit64:
    case NUMBER_getrusage:
    case NUMBER_getpgid:
    case NUMBER_setpgid:
    case NUMBER_read:
    case NUMBER_pread64:
    case NUMBER_readv:
    case NUMBER_write:
    case NUMBER_pwrite64:
    case NUMBER_writev:
    case NUMBER_creat:
    case NUMBER_stat:
    case NUMBER_fstat:
    case NUMBER_lstat:
    case NUMBER_newfstatat:
    case NUMBER_statx:
    case NUMBER_statfs:
    case NUMBER_fstatfs:
    case NUMBER_access:
    case NUMBER_faccessat:
    case NUMBER_faccessat2:
    case NUMBER_readlink:
    case NUMBER_readlinkat:
    case NUMBER_mkdir:
    case NUMBER_mkdirat:
    case NUMBER_rmdir:
    case NUMBER_unlink:
    case NUMBER_unlinkat:
    case NUMBER_getcwd:
    case NUMBER_chdir:
    case NUMBER_fchdir:
    case NUMBER_fcntl:
    case NUMBER_ftruncate:
    case NUMBER_fsync:
    case NUMBER_dup:
    case NUMBER_dup2:
    case NUMBER_dup3:
    case NUMBER_pipe:
    case NUMBER_pipe2:
    case NUMBER_socket:
    case NUMBER_socketpair:
    case NUMBER_eventfd2:
    case NUMBER_epoll_create1:
    case NUMBER_timerfd_create:
    case NUMBER_memfd_create:
    case NUMBER_pidfd_open:
    case KETTLE_CALL_MIGRATE:
    case KETTLE_CALL_START:
    case KETTLE_CALL_STARTED:
    case KETTLE_CALL_STOP:
    case KETTLE_CALL_CONTROL:
    case KETTLE_CALL_RETRIEVE:
    case KETTLE_CALL_NUMA:
        return true;
    default:
        return false;
    }
}

/* Others have a time limit, change a word or another thread's place, or own a lock. */
static bool futex_begins_again(uint32_t operation, uint64_t time_limit)
{
    return operation == FUTEX_WAKE || (operation == FUTEX_WAIT && time_limit == 0);
}

bool calls_may_begin_again(uint64_t number, const uint64_t *arguments)
{
    switch (number) {
    case NUMBER_mmap: /* at a fixed place it may have unmapped what was there */
        return ((uint32_t)arguments[3] & FIXED) == 0;
    case NUMBER_open: /* one that is refused may have made the file */
        return ((uint32_t)arguments[1] & EXCLUSIVE) == 0;
    case NUMBER_openat:
        return ((uint32_t)arguments[2] & EXCLUSIVE) == 0;
    case NUMBER_kill: /* of a group, some may have got the signal */
        return (int32_t)arguments[0] > 0;
    case NUMBER_futex:
        return futex_begins_again((uint32_t)arguments[1] & ~FUTEX_PRIVATE, arguments[3]);
    default:
        return begins_again(number);
    }
}
