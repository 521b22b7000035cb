/* test-futex: threads that wait for each other, on one kernel and on many. The same tests run on Linux.
 *
 * usage: test-futex [HANDOFFS] [TEST...]    of a word between threads, 100000 by default (20000 on one kernel) */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/futex/futex.h"

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
        CHECK(turn == goal, "%u turns of %u", turn, goal);
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
    CHECK(first == 1 && rest == count - 1, "%ld and %ld of %d", first, rest, count);
    CHECK(futex_wake(&go, 1) == 0, "somebody is left");
    CHECK(crew_end(&crew) == count, "not all were woken");
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
    CHECK(futex(&go, WAKE_BITSET | PRIVATE, 100, NULL, NULL, 1u << count) == 0, "a bit of nobody");
    for (int i = count - 1; i > 0; i--)
        each += futex(&go, WAKE_BITSET | PRIVATE, 100, NULL, NULL, 1u << i);
    CHECK(each == count - 1, "%ld of %d", each, count - 1);
    CHECK(futex_wake(&go, 100) == 1, "the last");
    CHECK(crew_end(&crew) == count, "not all were woken");
    CHECK(futex(&go, WAKE_BITSET | PRIVATE, 1, NULL, NULL, 0) == -EINVAL, "an empty set");
    CHECK(futex(&go, WAIT_BITSET | PRIVATE, 0, NULL, NULL, 0) == -EINVAL, "an empty set");
}

static word target;

static void test_requeue(void)
{
    int count = crew_size();
    long moved, woken_there;

    here = go = target = 0;
    crew_start(&crew, count, wait_once);
    wait_asleep(&crew, &here, (uint32_t)count);
    CHECK(futex(&go, CMP_REQUEUE | PRIVATE, 1, (void *)1000, &target, 7) == -EAGAIN, "another value");
    CHECK(futex(&go, CMP_REQUEUE | PRIVATE, (uint32_t)-1, (void *)1, &target, 0) == -EINVAL, "a negative count");
    moved = futex(&go, CMP_REQUEUE | PRIVATE, 1, (void *)1, &target, 0);
    CHECK(moved == 2, "%ld woken and moved", moved);
    moved = futex(&go, REQUEUE | PRIVATE, 0, (void *)1000, &target, 0);
    CHECK(moved == count - 2, "%ld moved", moved);
    CHECK(futex_wake(&go, 1000) == 0, "somebody is left where they were");
    woken_there = futex_wake(&target, 1000);
    CHECK(woken_there == count - 1, "%ld woken where they were moved to", woken_there);
    CHECK(crew_end(&crew) == count, "not all were woken");
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
    CHECK(result == 1 && target == 5, "%ld woken, the word is %u", result, target);
    result = futex(&go, WAKE_OP | PRIVATE, 1, (void *)1, &target, op(8 | 2, 4, 5, 0xfff)); /* |= 16, if >= -1 */
    CHECK(result == 1 && target == 21, "%ld woken, the word is %u", result, target);
    CHECK(crew_end(&crew) == 2, "not both were woken");
    CHECK(futex(&go, WAKE_OP | PRIVATE, 1, (void *)1, &target, op(7, 0, 0, 0)) == -ENOSYS, "no such operation");
    CHECK(futex(&go, WAKE_OP | PRIVATE, 1, (void *)1, TAP_UNMAPPED, op(1, 1, 0, 0)) == -EFAULT, "not mapped");
}

static void check_timeout(const char *what, int operation, clockid_t clock, bool relative)
{
    long start = now(clock);
    struct timespec time = timespec_of(relative ? 5 * MILLISECOND : start + 5 * MILLISECOND);
    long result = futex(&go, operation, 0, &time, NULL, ANY);
    long took = now(clock) - start;

    CHECK(result == -ETIMEDOUT, "%s: %ld", what, result);
    CHECK(took >= 5 * MILLISECOND, "%s: after %ld ns", what, took);
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
    CHECK(futex(&go, WAIT_BITSET | PRIVATE, 0, &past, NULL, ANY) == -ETIMEDOUT, "in the past");
    CHECK(futex(&go, WAIT_BITSET | PRIVATE, 1, &past, NULL, ANY) == -EAGAIN, "in the past, another value");
    for (int i = 0; i < 3; i++)
        CHECK(futex(&go, WAIT | PRIVATE, 0, &bad[i], NULL, 0) == -EINVAL, "bad time %d", i);
    crew_start(&crew, crew_size(), time_out);
    CHECK(crew_end(&crew) == 0, "on other kernels");
}

static void test_errors(void)
{
    word *misaligned = (word *)((char *)&go + 2);

    go = 1;
    CHECK(futex_wait(&go, 0) == -EAGAIN, "another value");
    CHECK(futex_wait(misaligned, 0) == -EINVAL, "not aligned");
    CHECK(futex_wake(misaligned, 1) == -EINVAL, "not aligned");
    CHECK(futex_wait(TAP_UNMAPPED, 0) == -EFAULT, "not mapped");
    CHECK(futex_wait(TAP_KERNEL_ADDRESS, 0) == -EFAULT, "the kernel's");
    CHECK(futex_wake(TAP_KERNEL_ADDRESS, 1) == -EFAULT, "the kernel's");
    CHECK(futex(&go, 99, 0, NULL, NULL, 0) == -ENOSYS, "no such operation");
    CHECK(futex(&go, WAKE | REALTIME, 0, NULL, NULL, 0) == -ENOSYS, "a clock where none belongs");
    CHECK(futex(&go, WAIT, 0, TAP_UNMAPPED, NULL, 0) == -EFAULT, "a time that is not mapped");
    CHECK(futex(&go, WAKE, 1, NULL, NULL, 0) == 0, "nobody waits");
}

static void test_end(void)
{
    if (!tap_on_kettle())
        tap_skip("children are started by Kettle's own call");
    else
        CHECK_CHILD_EXITS("sleepers", NULL, CHILD_STATUS);
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
static int sleepers(int argc, char **argv)
{
    (void)argc, (void)argv;
    go = 0;
    crew_start(&crew, crew_size(), sleep_for_ever);
    wait_asleep(&crew, &here, (uint32_t)crew_size());
    return CHILD_STATUS;
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"errors", "invalid arguments are refused", test_errors},
        {"timeouts", "waits end at their time, on each clock", test_timeouts},
        {"wake-some", "a wake wakes as many as asked for, and returns their number", test_wake_some},
        {"two", "two threads hand a word to and fro", test_two},
        {"many", "many threads hand a word round", test_many},
        {"count", "no wake is lost or doubled, whatever ends waits", futex_test_count},
        {"bitset", "a wake reaches the waiters with a bit of its set", test_bitset},
        {"requeue", "waiters that are requeued wait at the other word", test_requeue},
        {"wake-op", "FUTEX_WAKE_OP wakes and changes another word", test_wake_op},
        {"mutex", "mutexes exclude", futex_test_mutex},
        {"condition", "condition variables wake their waiters", futex_test_condition},
        {"barrier", "barriers release all threads when all have come", futex_test_barrier},
        {"semaphore", "semaphores pass a token round", futex_test_semaphore},
        {"join", "threads that ended on any kernel can be joined", futex_test_join},
        {"robust-mutex", "a robust mutex reports its dead owner", futex_test_robust_mutex},
        {"pi-lock", "priority-inheriting locks exclude", futex_test_pi_lock},
        {"pi-errors", "priority-inheriting locks refuse invalid calls", futex_test_pi_errors},
        {"robust-list", "the robust locks of a dead thread are marked and their waiters woken", futex_test_robust_list},
        {"robust-bad", "a damaged robust list harms nobody", futex_test_robust_bad},
        {"clear-tid", "the end of a thread wakes the waiters for its id", futex_test_clear_tid},
        {"interrupted", "a signal handler ends a wait, or the wait is restarted", futex_test_interrupted},
        {"moved", "a wait continues on the kernel that its thread is moved to", futex_test_moved},
        {"disturbed", "no wake is lost or doubled while threads are interrupted and moved", futex_test_disturbed},
        {"shared", "processes take turns by a word they share", futex_test_shared},
        {"private-apart", "private waits are separate for each process", futex_test_private_apart},
        {"killed-owner", "a robust lock is marked when its owner's process is killed", futex_test_killed_owner},
        {"objects", "a word of shared memory is the same wherever it is mapped", futex_test_objects},
        {"object-changes", "a word of shared memory stays the same when its page moves or has another frame",
         futex_test_object_changes},
        {"objects-apart", "words of different shared memory are different", futex_test_objects_apart},
        {"object-gone", "waiters of a file that is gone are not woken by a later one", futex_test_object_gone},
        {"objects-forked", "processes at home on several kernels share words and locks", futex_test_objects_forked},
        {"object-leased", "a word of shared memory that another kernel has leased can be woken",
         futex_test_object_leased},
        {"several", "futex_waitv returns when one of its words is woken", futex_test_several},
        {"several-errors", "futex_waitv ends at its timeout, and refuses invalid arguments", futex_test_several_errors},
        {"requeue-pi", "a thread requeued to a priority-inheriting lock gets it in the end", futex_test_requeue_pi},
        {"priority", "an owner inherits the priority of its waiters", futex_test_priority},
        {"owners", "locks of ended owners are ESRCH, and robust lists of other threads can be read", futex_test_owners},
        {"end", "a process ends though its threads wait everywhere", test_end},
    };

    static const struct tap_child children[] = {{"sleepers", sleepers}};
    struct tap_program program = {.tests = tests,
                                  .count = TAP_COUNT(tests),
                                  .children = children,
                                  .child_count = TAP_COUNT(children),
                                  .parameters = "[HANDOFFS]"};
    int kernels[64];

    handoffs = tap_kernels(kernels) > 1 ? 100000 : 20000;
    tap_take_number(&argc, &argv, &handoffs);
    program.extra = handoffs * MILLISECOND;
    return tap_main(argc, argv, &program);
}
