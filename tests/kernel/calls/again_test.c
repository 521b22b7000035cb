/* Which calls may begin again after they were refused memory.
 * sources: kernel/calls/again.c */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "kernel/abi/kettle.h"
#include "kernel/calls/calls.h"
#include "tests/test.h"

#define FUTEX_PRIVATE 128u

static bool may(long number, uint64_t first, uint64_t second, uint64_t third, uint64_t fourth)
{
    const uint64_t arguments[6] = {first, second, third, fourth};

    return calls_may_begin_again((uint64_t)number, arguments);
}

TEST(plain, "calls that change nothing, undo it or do the same once more may; those that take something may not")
{
    static const long may_begin[] = {SYS_mmap, SYS_fork, SYS_execve, SYS_wait4, SYS_read, SYS_pipe2, KETTLE_CALL_START};
    static const long must_not[] = {SYS_accept4,         SYS_recvmsg,   SYS_recvfrom,     SYS_recvmmsg,
                                    SYS_msgrcv,          SYS_semop,     SYS_poll,         SYS_epoll_wait,
                                    SYS_mq_timedreceive, SYS_nanosleep, SYS_sendmmsg,     SYS_rt_sigreturn,
                                    SYS_restart_syscall, SYS_splice,    SYS_epoll_ctl,    KETTLE_CALL_SPAWN,
                                    SYS_munmap,          SYS_mremap,    KETTLE_CALL_AUDIT};

    for (size_t i = 0; i < sizeof(may_begin) / sizeof(may_begin[0]); i++)
        CHECK(may(may_begin[i], 0, 0, 0, 0));
    for (size_t i = 0; i < sizeof(must_not) / sizeof(must_not[0]); i++)
        CHECK(!may(must_not[i], 0, 0, 0, 0));
}

TEST(exclusive, "an open may, unless it makes a file that must be new")
{
    CHECK(may(SYS_open, 0, O_RDWR | O_CREAT, 0, 0) && may(SYS_openat, 0, 0, O_RDWR | O_CREAT, 0));
    CHECK(!may(SYS_open, 0, O_RDWR | O_CREAT | O_EXCL, 0, 0) && !may(SYS_openat, 0, 0, O_RDWR | O_CREAT | O_EXCL, 0));
    CHECK(!may(SYS_openat2, 0, 0, 0, 0)); /* its flags are in the program's memory */
}

TEST(fixed, "a mapping may, unless it may have unmapped what was at its place")
{
    CHECK(may(SYS_mmap, 0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS));
    CHECK(!may(SYS_mmap, 4096, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED));
}

TEST(several, "a signal to one process may, one to a group or to all may not")
{
    CHECK(may(SYS_kill, 1, 9, 0, 0));
    CHECK(!may(SYS_kill, 0, 9, 0, 0) && !may(SYS_kill, (uint64_t)-1, 9, 0, 0) && !may(SYS_kill, 0xfffffff0, 9, 0, 0));
}

TEST(futex, "a futex's wait without a time limit, and a wake, may; what changes a word may not")
{
    const uint64_t wait = 0, wake = 1, wake_op = 5, lock_pi = 6, unlock_pi = 7, wait_bitset = 9;

    CHECK(may(SYS_futex, 0, wait, 0, 0) && may(SYS_futex, 0, wait | FUTEX_PRIVATE, 0, 0));
    CHECK(!may(SYS_futex, 0, wait, 0, 4096));
    CHECK(may(SYS_futex, 0, wake | FUTEX_PRIVATE, 1, 4096)); /* that argument is no time here */
    CHECK(!may(SYS_futex, 0, wake_op, 0, 0) && !may(SYS_futex, 0, lock_pi, 0, 0) &&
          !may(SYS_futex, 0, unlock_pi, 0, 0) && !may(SYS_futex, 0, wait_bitset, 0, 4096));
}

TEST(unknown, "no other number may")
{
    CHECK(!may(1l << 40, 0, 0, 0, 0) && !may(KETTLE_CALL_BASE + KETTLE_CALL_COUNT, 0, 0, 0, 0) && !may(-1, 0, 0, 0, 0));
}
