/* test-handoff: tokens that go round among threads on all kernels, handed on by every kind of wake, while the threads
 * move. Each token that is handed on wakes the thread that waits for it, or it stops. The same test runs on Linux.
 *
 * Every way round is gone twice. Undisturbed, nothing but the wake ends a wait: a single lost wake stops the token, and
 * the test fails with its crew's patience. Then signals interrupt the waits, so that wakes, interruptions and moves
 * meet; a signal also ends a wait whose wake was lost, which is why these tests alone would not show it.
 *
 * usage: test-handoff [HANDOFFS] [TEST...]    20000 by default */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/futex/futex.h"
#include "userland/x86.h"

#define PART 2000 /* handoffs for which the patience of a crew is */
#define MOVES 32  /* one handoff of so many has its thread move first */
#define INTERRUPTS SIGUSR1

/* WAKE_OP: add 1 to the second word, and wake there whatever it was. */
#define ADD_ONE (1u << 28 | 5u << 24 | 1u << 12 | 0xfffu)

static struct crew crew;
static long handoffs;
static word at[CREW_MAX];    /* tokens that wait for member i, who waits here for one */
static word aside[CREW_MAX]; /* and is sometimes requeued to there */
static atomic_long done, goal;
static word over;
static word ids[CREW_MAX];
static atomic_long sleeps, failures, last_failure;

static void note(int signal)
{
    (void)signal;
}

static void expect(bool holds, long value)
{
    if (holds)
        return;
    atomic_fetch_add(&failures, 1);
    atomic_store(&last_failure, value);
}

/* One token more for member TO, who is woken if he sleeps, in the way that CHOICE says. */
static void give(int to, uint64_t choice)
{
    long got;

    switch (choice % 4) {
    case 0:
        at[to]++;
        got = futex(&at[to], WAKE | PRIVATE, 1, NULL, NULL, 0);
        break;
    case 1:
        at[to]++;
        got = futex(&at[to], WAKE_BITSET | PRIVATE, 1, NULL, NULL, 4);
        break;
    case 2: /* nobody begins to sleep at a word that is not 0, so whoever sleeps is moved, and then woken */
        at[to]++;
        got = futex(&at[to], (choice & 16 ? REQUEUE : CMP_REQUEUE) | PRIVATE, 0, (void *)1, &aside[to], at[to]);
        if (got == -EAGAIN) /* he has taken it meanwhile */
            got = futex(&at[to], WAKE | PRIVATE, 1, NULL, NULL, 0);
        expect(got >= 0 && got <= 1, got);
        got = futex(&aside[to], WAKE | PRIVATE, 1, NULL, NULL, 0);
        break;
    default:
        got = futex(&aside[to], WAKE_OP | PRIVATE, 1, (void *)1, &at[to], ADD_ONE);
        expect(got >= 0 && got <= 2, got);
        got = 0;
    }
    expect(got >= 0 && got <= 1, got);
}

/* Waits for a token of its own. */
static void take(struct member *member)
{
    word *mine = &at[member->index];
    uint32_t value;

    for (;;) {
        value = *mine;
        while (value > 0) {
            if (atomic_compare_exchange_weak(mine, &value, value - 1))
                return;
        }
        if (tap_random(&member->random) % 2 == 0) {
            long result = futex(mine, WAIT | PRIVATE, 0, NULL, NULL, 0);

            expect(result == 0 || result == -EAGAIN || result == -EINTR, result);
        } else {
            struct timespec until = timespec_of(now(CLOCK_MONOTONIC) + (long)PATIENCE * 2 * SECOND);
            long result = futex(mine, WAIT_BITSET | PRIVATE, 0, &until, NULL, 4 | 8);

            expect(result == 0 || result == -EAGAIN || result == -EINTR, result);
        }
        atomic_fetch_add(&sleeps, 1);
    }
}

static void hand_on(struct member *member)
{
    int kernels[64], count = tap_kernels(kernels);
    int next = (member->index + 1) % member->crew->count;

    ids[member->index] = (uint32_t)x86_syscall0(SYS_gettid);
    while (!over) {
        uint64_t choice = tap_random(&member->random);

        take(member);
        if (tap_on_kettle() && choice % MOVES == 0)
            kettle_migrate(kernels[(choice >> 8) % (uint64_t)count]);
        if (atomic_fetch_add(&done, 1) + 1 >= goal)
            over = 1;
        give(next, choice >> 32);
    }
    give(next, 0); /* so that he sees the end, too: one token more for each member */
    ids[member->index] = 0;
}

/* Signals interrupt the waits. */
static void disturb(struct member *member)
{
    uint64_t random = tap_random(&member->random);

    while (!over) {
        uint32_t id = ids[random % CREW_MAX];

        if (id != 0)
            x86_syscall3(SYS_tgkill, getpid(), id, INTERRUPTS);
        sleep_ns(MILLISECOND);
        random = tap_random(&member->random);
    }
}

static void hand_part(int count, int tokens, long times, bool disturbed)
{
    static struct crew other;
    long left = 0;

    memset(at, 0, sizeof(at));
    memset(ids, 0, sizeof(ids));
    atomic_store(&done, 0);
    atomic_store(&goal, times);
    over = 0;
    if (disturbed)
        crew_start(&other, 1, disturb);
    crew_start(&crew, count, hand_on);
    for (int i = 0; i < tokens; i++)
        give(i * count / tokens, (uint64_t)i);
    crew_end(&crew);
    if (disturbed)
        crew_end(&other);
    for (int i = 0; i < count; i++)
        left += at[i];
    /* a member that ends has given one more than it had, and its last one may stay untaken */
    CHECK(left == tokens + count || left == tokens, "%ld tokens are left of %d among %d", left, tokens, count);
    CHECK(atomic_load(&done) >= times, "%ld handoffs of %ld", atomic_load(&done), times);
    CHECK(atomic_load(&failures) == 0, "%ld calls failed, the last with %ld", atomic_load(&failures),
          atomic_load(&last_failure));
}

static void hand_all(int count, int tokens, long times, bool disturbed)
{
    atomic_store(&sleeps, 0);
    for (; times > 0; times -= PART)
        hand_part(count, tokens, times < PART ? times : PART, disturbed);
    tap_note("%ld times a thread slept, or was about to", atomic_load(&sleeps));
}

static void test_one_token(void)
{
    hand_all(crew_size(), 1, handoffs / 8, false);
}

static void test_two_members(void)
{
    hand_all(2, 1, handoffs / 8, false);
}

static void test_many_tokens(void)
{
    hand_all(crew_size(), crew_size() / 2, handoffs / 4, false);
}

static void test_one_token_disturbed(void)
{
    hand_all(crew_size(), 1, handoffs / 8, true);
}

static void test_two_members_disturbed(void)
{
    hand_all(2, 1, handoffs / 8, true);
}

static void test_many_tokens_disturbed(void)
{
    hand_all(crew_size(), crew_size() / 2, handoffs / 4, true);
}

static const struct tap_test tests[] = {
    {"one-token", "one token goes round among threads that nothing else wakes", test_one_token},
    {"two-members", "one token goes to and fro between two threads that nothing else wakes", test_two_members},
    {"many-tokens", "many tokens go round among threads that nothing else wakes", test_many_tokens},
    {"one-token-signals", "one token goes round while signals interrupt the waits", test_one_token_disturbed},
    {"two-members-signals", "one token goes to and fro while signals interrupt the waits", test_two_members_disturbed},
    {"many-tokens-signals", "many tokens go round while signals interrupt the waits", test_many_tokens_disturbed},
};

int main(int argc, char **argv)
{
    struct tap_program program = {.tests = tests, .count = TAP_COUNT(tests), .parameters = "[HANDOFFS]"};
    struct sigaction action = {.sa_handler = note};

    handoffs = 20000;
    tap_take_number(&argc, &argv, &handoffs);
    program.extra = handoffs * 10 * MILLISECOND;
    sigaction(INTERRUPTS, &action, NULL);
    return tap_main(argc, argv, &program);
}
