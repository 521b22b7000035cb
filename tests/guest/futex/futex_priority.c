/* Priority through locks that name their owner: a thread of low priority has a lock, one of high priority waits for it,
 * and one in between, which needs no lock, would never let the first one run. All on one CPU. */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/guest/futex/futex.h"
#include "userland/x86.h"

#define GIVES_UP (5 * SECOND) /* of CPU time, after which the one in between does */

static word lock, there, taken, waits, got, starved;
static int cpu;

static void be(int policy, int priority)
{
    struct sched_param param = {.sched_priority = priority};
    uint64_t mask = 1ull << cpu;

    x86_syscall3(SYS_sched_setaffinity, 0, sizeof(mask), (long)&mask);
    x86_syscall3(SYS_sched_setscheduler, 0, policy, (long)&param);
}

static long used(void)
{
    struct timespec time;

    x86_syscall3(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, (long)&time, 0);
    return time.tv_sec * SECOND + time.tv_nsec;
}

static void low(struct member *member)
{
    uint32_t value;

    be(SCHED_FIFO, 1);
    while ((value = there) < 2) /* before they have their priority it would starve them */
        futex_wait(&there, value);
    futex(&lock, LOCK_PI | PRIVATE, 0, NULL, NULL, 0);
    taken = 1;
    futex_wake(&taken, 2);
    while (waits == 0)
        futex_wait(&waits, 0);
    for (long until = used() + 20 * MILLISECOND; used() < until;)
        x86_pause();
    member->result = futex(&lock, UNLOCK_PI | PRIVATE, 0, NULL, NULL, 0);
}

static void high(struct member *member)
{
    be(SCHED_FIFO, 20);
    there++;
    futex_wake(&there, 1);
    while (taken == 0)
        futex_wait(&taken, 0);
    waits = 1;
    futex_wake(&waits, 1);
    member->result = futex(&lock, LOCK_PI | PRIVATE, 0, NULL, NULL, 0);
    got = 1;
    futex(&lock, UNLOCK_PI | PRIVATE, 0, NULL, NULL, 0);
}

static void between(struct member *member)
{
    long until;

    be(SCHED_FIFO, 10);
    there++;
    futex_wake(&there, 1);
    while (taken == 0)
        futex_wait(&taken, 0);
    for (until = used() + GIVES_UP; got == 0 && used() < until;)
        x86_pause();
    starved = got == 0;
    member->result = 0;
}

static void run(struct member *member)
{
    if (member->index == 0)
        low(member);
    else if (member->index == 1)
        high(member);
    else
        between(member);
}

void futex_test_priority(void)
{
    static struct crew crew;
    cpu_set_t all;

    sched_getaffinity(0, sizeof(all), &all);
    for (cpu = 0; cpu < 63 && !CPU_ISSET(cpu, &all);)
        cpu++;
    lock = there = taken = waits = got = starved = 0;
    crew_start(&crew, 3, run);
    CHECK(crew_end(&crew) == 0, "locking and unlocking");
    CHECK(starved == 0, "the lock came only when the one in between had given up");
}
