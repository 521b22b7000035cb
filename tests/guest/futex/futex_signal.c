/* What ends waits besides wakes: time, signals, moves. Wakes are counted: what the calls of wakers return and what
 * those of waiters return has to agree, whatever happens meanwhile. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/futex/futex.h"
#include "userland/x86.h"

#define TRIES 3000
#define ENDS SIGUSR1     /* its handler ends calls */
#define RESTARTS SIGUSR2 /* its handler lets them begin again */

static struct crew crew;
static word value;
static atomic_long woken;
static word waiting;      /* waiters that are not done */
static word over, wakers; /* that have come */
static bool disturbed;
static word ids[CREW_MAX];
static cpu_set_t cpus; /* all that there are */
static word handled;

static uint32_t own_id(void)
{
    return (uint32_t)x86_syscall0(SYS_gettid);
}

static void handle(int signal)
{
    (void)signal;
    handled++;
}

static void set_handlers(void)
{
    struct sigaction action = {.sa_handler = handle};

    CHECK(sigaction(ENDS, &action, NULL) == 0, "%s", strerror(errno));
    action.sa_flags = SA_RESTART;
    CHECK(sigaction(RESTARTS, &action, NULL) == 0, "%s", strerror(errno));
    CHECK(sched_getaffinity(0, sizeof(cpus), &cpus) == 0, "%s", strerror(errno));
    handled = 0;
}

static long send(uint32_t id, int signal)
{
    return x86_syscall3(SYS_tgkill, getpid(), (long)id, signal);
}

/* Binds thread ID to the CPU that has PLACE others before it. */
static long bind_to(uint32_t id, int place)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &cpus) && place-- == 0)
            CPU_SET(cpu, &one);
    }
    return x86_syscall3(SYS_sched_setaffinity, (long)id, sizeof(one), (long)&one);
}

static void wait_often(struct member *member)
{
    for (int i = 0; i < TRIES; i++) {
        struct timespec soon = timespec_of((long)(tap_random(&member->random) % 300000));
        uint32_t seen = value;
        long result;

        if (i % 4 == 0)
            sleep_ns((long)(tap_random(&member->random) % 50000)); /* the value has changed */
        result = futex(&value, WAIT | PRIVATE, seen, &soon, NULL, 0);
        if (result == 0)
            member->result++;
        else if (result != -EAGAIN && result != -ETIMEDOUT && !(disturbed && result == -EINTR))
            member->result = -1000000000;
    }
}

static void wake_often(struct member *member)
{
    while (waiting > 0) {
        if (tap_random(&member->random) % 4 == 0)
            value++;
        woken += futex_wake(&value, 1 + (int)(tap_random(&member->random) % 2));
        sleep_ns((long)(tap_random(&member->random) % 100000));
    }
}

/* Interrupts and moves the waiters. */
static void disturb(struct member *member)
{
    while (waiting > 0) {
        uint64_t random = tap_random(&member->random);
        uint32_t id = ids[random / 16 % (uint64_t)member->crew->count / 2 * 2];

        if (id == 0)
            continue;
        if (random % 4 == 0)
            bind_to(id, (int)(random >> 32) & 3);
        else
            send(id, random % 4 == 1 ? ENDS : RESTARTS);
        sleep_ns((long)(random >> 40) % 100000);
    }
}

static void wait_or_wake(struct member *member)
{
    if (member->index % 2 == 0) {
        wait_for(&wakers, 1);
        waiting++;
        ids[member->index] = own_id();
        wait_often(member);
        ids[member->index] = 0;
        waiting--;
        over = 1;
        return;
    }
    wakers++;
    while (waiting == 0 && over == 0) {
    }
    if (disturbed && member->index == 1)
        disturb(member);
    else
        wake_often(member);
    over = 1;
}

static void count_wakes(void)
{
    long reported;

    woken = 0;
    over = waiting = wakers = 0;
    crew_start(&crew, crew_size(), wait_or_wake);
    reported = crew_end(&crew);
    CHECK(reported == woken, "%ld waits were woken, wakers counted %ld", reported, (long)woken);
    CHECK(reported > 0, "no wait was woken");
    tap_note("%ld wakes in %d waits", reported, TRIES * (crew_size() / 2));
}

void futex_test_count(void)
{
    disturbed = false;
    count_wakes();
}

void futex_test_disturbed(void)
{
    disturbed = true;
    set_handlers();
    count_wakes();
    CHECK(handled > 0, "no signal was handled");
}

/* Wakes who waits for the value, until COUNT have been: who is being moved comes back to its wait. */
static long wake_all(long count)
{
    long wakes = 0, limit = now(CLOCK_MONOTONIC) + PATIENCE / 2 * SECOND;

    while (wakes < count && now(CLOCK_MONOTONIC) < limit) {
        wakes += futex_wake(&value, 1000);
        sleep_ns(MILLISECOND);
    }
    return wakes;
}

static word stage;

/* Stage by stage: a wait that a handler ends, one that goes on, one with a time. */
static void wait_interrupted(struct member *member)
{
    struct timespec later = timespec_of(PATIENCE * SECOND);

    if (member->index == 0)
        return; /* the other one is away from home */
    ids[1] = own_id();
    stage = 1;
    if (futex_wait(&value, 0) == -EINTR)
        member->result |= 1;
    stage = 2;
    if (futex_wait(&value, 0) == 0)
        member->result |= 2;
    stage = 3;
    if (futex(&value, WAIT | PRIVATE, 0, &later, NULL, 0) == -EINTR)
        member->result |= 4;
    stage = 4;
    if (futex(&value, WAIT | PRIVATE, 0, &later, NULL, 0) == 0)
        member->result |= 8;
}

void futex_test_interrupted(void)
{
    long result;

    set_handlers();
    value = stage = 0;
    crew_start(&crew, 2, wait_interrupted);
    wait_asleep(&crew, &stage, 1);
    CHECK(send(ids[1], ENDS) == 0, "kill");
    wait_asleep(&crew, &stage, 2);
    CHECK(send(ids[1], RESTARTS) == 0, "kill");
    wait_asleep(&crew, &handled, 2);
    CHECK(stage == 2, "a handler with SA_RESTART has ended the wait");
    CHECK(futex_wake(&value, 10) == 1, "the wait has not begun again");
    wait_asleep(&crew, &stage, 3);
    CHECK(send(ids[1], RESTARTS) == 0, "kill");
    wait_asleep(&crew, &stage, 4);
    CHECK(bind_to(ids[1], 0) == 0, "it cannot be moved");
    CHECK(wake_all(1) == 1, "a wait with a time has not gone on");
    result = crew_end(&crew);
    CHECK(result == 15, "waits as they should be: %lx", result);
    CHECK(handled == 3, "%u signals", handled);
}

static void wait_moved(struct member *member)
{
    ids[member->index] = own_id();
    stage++;
    member->result = futex_wait(&value, 0) == 0;
}

void futex_test_moved(void)
{
    int count = crew_size();
    long wakes;

    set_handlers();
    value = stage = 0;
    crew_start(&crew, count, wait_moved);
    wait_asleep(&crew, &stage, (uint32_t)count);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < count; i++)
            CHECK(bind_to(ids[i], (i + round) % CPU_COUNT(&cpus)) == 0, "thread %d cannot be moved", i);
        sleep_ns(5 * MILLISECOND); /* they are on their way, or there: a wake finds them in both */
    }
    wakes = wake_all(count);
    CHECK(wakes == count, "%ld of %d", wakes, count);
    CHECK(crew_end(&crew) == count, "not all were woken");
}
