/* The futex call and crews of threads. tests/guest/futex/futex.h is the contract. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/futex/futex.h"
#include "userland/x86.h"

long futex(word *address, int operation, uint32_t value, const void *timeout, word *second, uint32_t value3)
{
    return x86_syscall(SYS_futex, (long)address, operation, (long)value, (long)timeout, (long)second, (long)value3);
}

long futex_wait(word *address, uint32_t value)
{
    return futex(address, WAIT | PRIVATE, value, NULL, NULL, 0);
}

long futex_wake(word *address, int count)
{
    return futex(address, WAKE | PRIVATE, (uint32_t)count, NULL, NULL, 0);
}

long now(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return time.tv_sec * SECOND + time.tv_nsec;
}

struct timespec timespec_of(long nanoseconds)
{
    return (struct timespec){nanoseconds / SECOND, nanoseconds % SECOND};
}

void sleep_ns(long nanoseconds)
{
    struct timespec time = timespec_of(nanoseconds);

    nanosleep(&time, NULL);
}

int crew_size(void)
{
    int kernels[64];
    int count = 2 * tap_kernels(kernels);

    return count < 4 ? 4 : count > CREW_MAX ? CREW_MAX : count;
}

static void *run_member(void *argument)
{
    struct member *member = argument;
    struct crew *crew = member->crew;
    int kernels[64];
    int count = tap_kernels(kernels);

    if (tap_on_kettle() && kettle_migrate(kernels[member->index % count]) != 0)
        abort();
    member->tid = (uint32_t)x86_syscall0(SYS_gettid);
    crew->run(member);
    member->tid = 0;
    if (atomic_fetch_sub(&crew->left, 1) == 1)
        futex_wake(&crew->left, 1);
    return NULL;
}

bool crew_start(struct crew *crew, int count, void (*run)(struct member *member))
{
    static uint64_t seed = 1;

    *crew = (struct crew){.count = count, .run = run};
    crew->left = (uint32_t)count;
    for (int i = 0; i < count; i++) {
        struct member *member = &crew->members[i];
        int error;

        member->crew = crew;
        member->index = i;
        member->random = seed++;
        error = pthread_create(&member->thread, NULL, run_member, member);
        REQUIRE(error == 0, "thread %d: %s", i, strerror(error));
    }
    return true;
}

static _Noreturn void stuck(const char *what, long left)
{
    tap_broken(__FILE__, __LINE__, "crew", "%ld %s after %d s", left, what, PATIENCE);
    tap_stop();
}

long crew_end(struct crew *crew)
{
    struct timespec deadline = timespec_of(now(CLOCK_MONOTONIC) + PATIENCE * SECOND);
    uint32_t left;
    long sum = 0;

    while ((left = crew->left) != 0) {
        if (futex(&crew->left, WAIT_BITSET | PRIVATE, left, &deadline, NULL, ANY) == -ETIMEDOUT)
            stuck("threads are not done", (long)left);
    }
    for (int i = 0; i < crew->count; i++) {
        pthread_join(crew->members[i].thread, NULL);
        sum += crew->members[i].result;
    }
    return sum;
}

void wait_for(word *counter, uint32_t goal)
{
    long end = now(CLOCK_MONOTONIC) + PATIENCE * SECOND;

    while (*counter < goal) {
        if (now(CLOCK_MONOTONIC) > end)
            stuck("threads have not come", (long)goal - (long)*counter);
        sleep_ns(MILLISECOND);
    }
}

void wait_asleep(struct crew *crew, word *counter, uint32_t goal)
{
    long end = now(CLOCK_MONOTONIC) + PATIENCE * SECOND;

    wait_for(counter, goal);
    for (int i = 0; i < crew->count; i++) {
        uint32_t tid;

        while ((tid = crew->members[i].tid) != 0 && !tap_sleeps(0, tid)) {
            if (now(CLOCK_MONOTONIC) > end)
                stuck("thread does not fall asleep", 1);
            sleep_ns(MILLISECOND);
        }
    }
}
