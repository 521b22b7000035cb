/* test-futex: threads that wait for each other, on one kernel and on many. The same tests run on Linux.
 *
 * usage: test-futex [HANDOFFS | "priority"]    of a word between threads, 100000 unless told (20000 on one kernel);
 * children: "sleepers" */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "userland/tests/futex.h"

#define CHILD_STATUS 5
#define PART 10000u

static struct crew crew;
static long handoffs; /* of all parts */
static uint32_t goal; /* of this one */
static word turn;

/* Passes the turn round; all wait for the one word. */
static void pass_turn(struct member *member)
{
    uint32_t count = (uint32_t)member->crew->count;
    uint32_t value;

    while ((value = turn) < goal) {
        if (value % count != (uint32_t)member->index) {
            if (futex_wait(&turn, value) == 0)
                member->result++;
            continue;
        }
        turn = value + 1;
        futex_wake(&turn, (int)count);
    }
    futex_wake(&turn, (int)count);
}

static void hand_over(int count, long times)
{
    while (times > 0) { /* patience is for one part */
        goal = times < PART ? (uint32_t)times : PART;
        turn = 0;
        crew_start(&crew, count, pass_turn);
        crew_end(&crew);
        EXPECT(turn == goal, "%u turns of %u", turn, goal);
        times -= goal;
    }
}

static void test_two(void)
{
    hand_over(2, handoffs);
}

static void test_many(void)
{
    hand_over(crew_size(), handoffs / 20);
}

static word here;
static word go;

static void wait_once(struct member *member)
{
    here++;
    member->result = futex_wait(&go, 0) == 0;
}

static void test_wake_some(void)
{
    int count = crew_size();
    long first, rest;

    here = go = 0;
    crew_start(&crew, count, wait_once);
    wait_asleep(&crew, &here, (uint32_t)count);
    first = futex_wake(&go, 1);
    rest = futex_wake(&go, 1000);
    EXPECT(first == 1 && rest == count - 1, "%ld and %ld of %d", first, rest, count);
    EXPECT(futex_wake(&go, 1) == 0, "somebody is left");
    EXPECT(crew_end(&crew) == count, "not all were woken");
}

static void wait_with_bit(struct member *member)
{
    here++;
    member->result = futex(&go, WAIT_BITSET | PRIVATE, 0, NULL, NULL, 1u << member->index) == 0;
}

static void test_bitset(void)
{
    int count = crew_size();
    long each = 0;

    here = go = 0;
    crew_start(&crew, count, wait_with_bit);
    wait_asleep(&crew, &here, (uint32_t)count);
    EXPECT(futex(&go, WAKE_BITSET | PRIVATE, 100, NULL, NULL, 1u << count) == 0, "a bit of nobody");
    for (int i = count - 1; i > 0; i--)
        each += futex(&go, WAKE_BITSET | PRIVATE, 100, NULL, NULL, 1u << i);
    EXPECT(each == count - 1, "%ld of %d", each, count - 1);
    EXPECT(futex_wake(&go, 100) == 1, "the last");
    EXPECT(crew_end(&crew) == count, "not all were woken");
    EXPECT(futex(&go, WAKE_BITSET | PRIVATE, 1, NULL, NULL, 0) == -EINVAL, "an empty set");
    EXPECT(futex(&go, WAIT_BITSET | PRIVATE, 0, NULL, NULL, 0) == -EINVAL, "an empty set");
}

static word target;

static void test_requeue(void)
{
    int count = crew_size();
    long moved, woken_there;

    here = go = target = 0;
    crew_start(&crew, count, wait_once);
    wait_asleep(&crew, &here, (uint32_t)count);
    EXPECT(futex(&go, CMP_REQUEUE | PRIVATE, 1, (void *)1000, &target, 7) == -EAGAIN, "another value");
    EXPECT(futex(&go, CMP_REQUEUE | PRIVATE, (uint32_t)-1, (void *)1, &target, 0) == -EINVAL, "a negative count");
    moved = futex(&go, CMP_REQUEUE | PRIVATE, 1, (void *)1, &target, 0);
    EXPECT(moved == 2, "%ld woken and moved", moved);
    moved = futex(&go, REQUEUE | PRIVATE, 0, (void *)1000, &target, 0);
    EXPECT(moved == count - 2, "%ld moved", moved);
    EXPECT(futex_wake(&go, 1000) == 0, "somebody is left where they were");
    woken_there = futex_wake(&target, 1000);
    EXPECT(woken_there == count - 1, "%ld woken where they were moved to", woken_there);
    EXPECT(crew_end(&crew) == count, "not all were woken");
}

static void wait_for_two(struct member *member)
{
    here++;
    member->result = futex_wait(member->index == 0 ? &go : &target, 0) == 0;
}

static uint32_t op(uint32_t operation, uint32_t argument, uint32_t comparison, uint32_t compared)
{
    return operation << 28 | comparison << 24 | argument << 12 | compared;
}

static void test_wake_op(void)
{
    long result;

    here = go = target = 0;
    crew_start(&crew, 2, wait_for_two);
    wait_asleep(&crew, &here, 2);
    result = futex(&go, WAKE_OP | PRIVATE, 1, (void *)1, &target, op(1, 5, 0, 1)); /* += 5, if it was 1 */
    EXPECT(result == 1 && target == 5, "%ld woken, the word is %u", result, target);
    result = futex(&go, WAKE_OP | PRIVATE, 1, (void *)1, &target, op(8 | 2, 4, 5, 0xfff)); /* |= 16, if >= -1 */
    EXPECT(result == 1 && target == 21, "%ld woken, the word is %u", result, target);
    EXPECT(crew_end(&crew) == 2, "not both were woken");
    EXPECT(futex(&go, WAKE_OP | PRIVATE, 1, (void *)1, &target, op(7, 0, 0, 0)) == -ENOSYS, "no such operation");
    EXPECT(futex(&go, WAKE_OP | PRIVATE, 1, (void *)1, TAP_UNMAPPED, op(1, 1, 0, 0)) == -EFAULT, "not mapped");
}

static void check_timeout(const char *what, int operation, clockid_t clock, bool relative)
{
    long start = now(clock);
    struct timespec time = timespec_of(relative ? 5 * MILLISECOND : start + 5 * MILLISECOND);
    long result = futex(&go, operation, 0, &time, NULL, ANY);
    long took = now(clock) - start;

    EXPECT(result == -ETIMEDOUT, "%s: %ld", what, result);
    EXPECT(took >= 5 * MILLISECOND, "%s: after %ld ns", what, took);
}

static void time_out(struct member *member)
{
    struct timespec time = timespec_of(2 * MILLISECOND);
    long start = now(CLOCK_MONOTONIC);

    member->result = futex(&go, WAIT, 0, &time, NULL, 0) != -ETIMEDOUT ||
                     now(CLOCK_MONOTONIC) - start < 2 * MILLISECOND;
}

static void test_timeouts(void)
{
    struct timespec past = timespec_of(1);
    struct timespec bad[] = {{-1, 0}, {0, SECOND}, {0, -1}};

    go = 0;
    check_timeout("relative", WAIT | PRIVATE, CLOCK_MONOTONIC, true);
    check_timeout("absolute", WAIT_BITSET | PRIVATE, CLOCK_MONOTONIC, false);
    check_timeout("absolute, real time", WAIT_BITSET | PRIVATE | REALTIME, CLOCK_REALTIME, false);
    EXPECT(futex(&go, WAIT_BITSET | PRIVATE, 0, &past, NULL, ANY) == -ETIMEDOUT, "in the past");
    EXPECT(futex(&go, WAIT_BITSET | PRIVATE, 1, &past, NULL, ANY) == -EAGAIN, "in the past, another value");
    for (int i = 0; i < 3; i++)
        EXPECT(futex(&go, WAIT | PRIVATE, 0, &bad[i], NULL, 0) == -EINVAL, "bad time %d", i);
    crew_start(&crew, crew_size(), time_out);
    EXPECT(crew_end(&crew) == 0, "on other kernels");
}

static void test_errors(void)
{
    word *misaligned = (word *)((char *)&go + 2);

    go = 1;
    EXPECT(futex_wait(&go, 0) == -EAGAIN, "another value");
    EXPECT(futex_wait(misaligned, 0) == -EINVAL, "not aligned");
    EXPECT(futex_wake(misaligned, 1) == -EINVAL, "not aligned");
    EXPECT(futex_wait(TAP_UNMAPPED, 0) == -EFAULT, "not mapped");
    EXPECT(futex_wait(TAP_KERNEL_ADDRESS, 0) == -EFAULT, "the kernel's");
    EXPECT(futex_wake(TAP_KERNEL_ADDRESS, 1) == -EFAULT, "the kernel's");
    EXPECT(futex(&go, 99, 0, NULL, NULL, 0) == -ENOSYS, "no such operation");
    EXPECT(futex(&go, WAKE | REALTIME, 0, NULL, NULL, 0) == -ENOSYS, "a clock where none belongs");
    EXPECT(futex(&go, WAIT, 0, TAP_UNMAPPED, NULL, 0) == -EFAULT, "a time that is not mapped");
    EXPECT(futex(&go, WAKE, 1, NULL, NULL, 0) == 0, "nobody waits");
}

static void test_end(void)
{
    if (!tap_on_kettle())
        tap_skip("children are started by Kettle's own call");
    else
        EXPECT_EXIT("sleepers", NULL, CHILD_STATUS);
}

static void sleep_for_ever(struct member *member)
{
    here++;
    if (member->index % 2 == 0)
        futex_wait(&go, 0);
    else
        futex(&go, LOCK_PI, 0, NULL, NULL, 0);
}

/* Ends while threads wait on all kernels. */
static int sleepers(void)
{
    go = 0;
    crew_start(&crew, crew_size(), sleep_for_ever);
    wait_asleep(&crew, &here, (uint32_t)crew_size());
    return CHILD_STATUS;
}

int main(int argc, char **argv)
{
    static const struct tap_test priority[] = {{"an owner inherits the priority of who waits for it", test_priority}};
    static const struct tap_test tests[] = {
        {"wrong arguments are refused", test_errors},
        {"waits end at their time, on each clock", test_timeouts},
        {"as many are woken as asked for, and told so", test_wake_some},
        {"two threads hand a word to and fro", test_two},
        {"many threads hand a word round", test_many},
        {"no wake is lost or doubled, whatever ends waits", test_count},
        {"a wake reaches those with a bit of its set", test_bitset},
        {"waiters that are requeued wait at the other word", test_requeue},
        {"wake and change another word", test_wake_op},
        {"mutexes exclude", test_mutex},
        {"condition variables wake who waits", test_condition},
        {"barriers let all go when all have come", test_barrier},
        {"semaphores pass a token round", test_semaphore},
        {"threads that ended anywhere are joined", test_join},
        {"a robust mutex tells of its dead owner", test_robust_mutex},
        {"locks that name their owner exclude", test_pi_lock},
        {"locks that name their owner refuse others", test_pi_errors},
        {"what a dead thread held is marked and its waiters are woken", test_robust_list},
        {"a damaged robust list harms nobody", test_robust_bad},
        {"the end of a thread wakes who waits for its id", test_clear_tid},
        {"a handler ends a wait, or it begins again", test_interrupted},
        {"a wait goes on where its thread is moved to", test_moved},
        {"no wake is lost or doubled while threads are interrupted and moved", test_disturbed},
        {"processes take turns by a word they share", test_shared},
        {"private waits are the process's own", test_private_apart},
        {"a lock is marked when its owner's process is killed", test_killed_owner},
        {"one of several words wakes who waits for all", test_several},
        {"waits for several words end, and refuse what is wrong", test_several_errors},
        {"who waits for a word and then for a lock has it in the end", test_requeue_pi},
        {"an owner inherits the priority of who waits for it", test_priority},
        {"owners that are gone are found out, and lists of others told", test_owners},
        {"a process ends though its threads wait everywhere", test_end},
    };

    int kernels[64];

    if (argc > 1 && strcmp(argv[1], "sleepers") == 0)
        return sleepers();
    handoffs = tap_kernels(kernels) > 1 ? 100000 : 20000;
    if (argc > 1)
        handoffs = strtol(argv[1], NULL, 10);
    if (argc > 1 && strcmp(argv[1], "priority") == 0)
        return tap_run(priority, 1);
    return tap_run(tests, TAP_COUNT(tests));
}
