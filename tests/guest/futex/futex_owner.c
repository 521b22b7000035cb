/* Words that name their owner: locks of FUTEX_LOCK_PI, robust lists, the id that the kernel clears. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/futex/futex.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define LOCKS 1000

static struct crew crew;
static word lock;
static long counter; /* under lock */

static uint32_t own_id(void)
{
    return (uint32_t)x86_syscall0(SYS_gettid);
}

static long take(word *at, const struct timespec *timeout)
{
    uint32_t expected = 0;

    if (atomic_compare_exchange_strong(at, &expected, own_id()))
        return 0;
    return futex(at, LOCK_PI | PRIVATE, 0, timeout, NULL, 0);
}

static long give(word *at)
{
    uint32_t expected = own_id();

    if (atomic_compare_exchange_strong(at, &expected, 0))
        return 0;
    return futex(at, UNLOCK_PI | PRIVATE, 0, NULL, NULL, 0);
}

static void add_under_lock(struct member *member)
{
    for (int i = 0; i < LOCKS; i++) {
        struct timespec soon = timespec_of(now(CLOCK_REALTIME) + (long)(tap_random(&member->random) % 200000));
        long error;

        while ((error = take(&lock, member->index % 2 == 0 ? NULL : &soon)) == -ETIMEDOUT)
            soon = timespec_of(now(CLOCK_REALTIME) + MILLISECOND);
        if (error != 0)
            member->result = error;
        if ((lock & ~(WAITERS | OWNER_DIED)) != own_id())
            member->result = -1000;
        counter++;
        error = give(&lock);
        if (error != 0)
            member->result = error;
    }
}

void futex_test_pi_lock(void)
{
    int count = crew_size();
    long sum;

    lock = 0;
    counter = 0;
    crew_start(&crew, count, add_under_lock);
    sum = crew_end(&crew);
    CHECK(sum == 0, "errors add up to %ld", sum);
    CHECK(counter == (long)count * LOCKS, "%ld increments", counter);
    CHECK(lock == 0 || take(&lock, NULL) == 0, "the word is %x", lock);
}

static void hold_lock(struct member *member)
{
    member->result = take(&lock, NULL);
    counter = 1;
    while (*(volatile long *)&counter != 2)
        sleep_ns(MILLISECOND);
    UNTIL(tap_sleeps(0, getpid()), "the first thread to wait for the lock");
    member->result += give(&lock);
}

void futex_test_pi_errors(void)
{
    struct timespec past = timespec_of(1);

    lock = own_id();
    CHECK(futex(&lock, LOCK_PI | PRIVATE, 0, NULL, NULL, 0) == -EDEADLK, "one's own lock");
    CHECK(futex(&lock, UNLOCK_PI | PRIVATE, 0, NULL, NULL, 0) == 0 && lock == 0, "the word is %x", lock);
    CHECK(futex(&lock, UNLOCK_PI | PRIVATE, 0, NULL, NULL, 0) == -EPERM, "a free lock");
    CHECK(futex(&lock, TRYLOCK_PI | PRIVATE, 0, NULL, NULL, 0) == 0 && lock == own_id(), "the word is %x", lock);
    lock = 0;
    counter = 0;
    crew_start(&crew, 1, hold_lock);
    while (*(volatile long *)&counter == 0)
        sleep_ns(MILLISECOND);
    CHECK(futex(&lock, TRYLOCK_PI | PRIVATE, 0, NULL, NULL, 0) == -EAGAIN, "another's lock, tried");
    CHECK(futex(&lock, UNLOCK_PI | PRIVATE, 0, NULL, NULL, 0) == -EPERM, "another's lock, unlocked");
    CHECK(take(&lock, &past) == -ETIMEDOUT, "a deadline in the past");
    counter = 2;
    CHECK(take(&lock, NULL) == 0, "another's lock, waited for");
    CHECK((lock & ~WAITERS) == own_id(), "the word is %x", lock);
    CHECK(give(&lock) == 0 && lock == 0, "the word is %x", lock);
    CHECK(crew_end(&crew) == 0, "the holder");
    CHECK(futex((word *)((char *)&lock + 1), LOCK_PI | PRIVATE, 0, NULL, NULL, 0) == -EINVAL, "not aligned");
    CHECK(futex(TAP_UNMAPPED, LOCK_PI | PRIVATE, 0, NULL, NULL, 0) == -EFAULT, "not mapped");
}

/* As the kernel reads them. */
struct link {
    struct link *next;
};
struct head {
    struct link *next;
    long offset;
    struct link *pending;
};
struct robust_word {
    struct link link;
    word word;
};

#define WORDS 3
#define DIES_CLEANLY 0
#define DIES_WITH_CYCLE 1
#define DIES_WITH_BAD_LINK 2
#define DIES_WITH_BAD_HEAD 3

static struct robust_word words[WORDS];
static struct robust_word about; /* was about to be taken */
static word not_owned;
static word set_up;

/* Ends with WORDS locks, the way that its index says. */
static word may_die; /* somebody waits for its words, or nobody is to */

static void die_with_list(struct thread *thread)
{
    static struct head head;
    int kernels[64];
    int count = tap_kernels(kernels);

    if (tap_on_kettle() && kettle_migrate(kernels[count - 1]) != 0)
        return;
    head = (struct head){&words[0].link, (long)sizeof(struct link), &about.link};
    for (int i = 0; i < WORDS; i++) {
        words[i].word = own_id() | WAITERS;
        words[i].link.next = i + 1 < WORDS ? &words[i + 1].link : (struct link *)&head;
    }
    about.word = own_id();
    if (thread->index == DIES_WITH_CYCLE)
        words[WORDS - 1].link.next = &words[0].link;
    if (thread->index == DIES_WITH_BAD_LINK)
        words[WORDS - 1].link.next = TAP_UNMAPPED;
    thread->result = x86_syscall3(SYS_set_robust_list,
                                  thread->index == DIES_WITH_BAD_HEAD ? (long)TAP_KERNEL_ADDRESS : (long)&head,
                                  sizeof(head), 0);
    set_up = 1;
    UNTIL(may_die, "somebody to wait for the words");
}

static word waiting; /* how many are about to wait for a word of the list */

static void wait_for_words(struct member *member)
{
    word *at = &words[member->index % WORDS].word;
    uint32_t value;

    wait_for(&set_up, 1);
    waiting++;
    while (((value = *at) & OWNER_DIED) == 0) {
        if (futex(at, WAIT, value, NULL, NULL, 0) == 0)
            member->result++;
    }
}

void futex_test_robust_list(void)
{
    struct thread dying = {.index = DIES_CLEANLY};

    set_up = waiting = 0;
    crew_start(&crew, WORDS, wait_for_words);
    may_die = 0;
    CHECK(thread_start(&dying, die_with_list), "%s", strerror(errno));
    wait_asleep(&crew, &waiting, WORDS);
    may_die = 1;
    crew_end(&crew);
    CHECK(thread_join(&dying), "it does not end");
    CHECK(dying.result == 0, "set_robust_list: %ld", dying.result);
    for (int i = 0; i < WORDS; i++)
        CHECK(words[i].word == (WAITERS | OWNER_DIED), "word %d is %x", i, words[i].word);
    CHECK(about.word == OWNER_DIED, "the pending word is %x", about.word);
}

void futex_test_robust_bad(void)
{
    for (int how = DIES_WITH_CYCLE; how <= DIES_WITH_BAD_HEAD; how++) {
        struct thread dying = {.index = how};

        may_die = 1;
        CHECK(thread_start(&dying, die_with_list), "%s", strerror(errno));
        CHECK(thread_join(&dying), "case %d does not end", how);
        if (how != DIES_WITH_BAD_HEAD)
            CHECK(words[0].word == (WAITERS | OWNER_DIED), "case %d: the first word is %x", how, words[0].word);
    }
    CHECK(x86_syscall3(SYS_set_robust_list, (long)&about, 23, 0) == -EINVAL, "a wrong size");
    CHECK(not_owned == 0, "a word of nobody is %x", not_owned);
}

static void end_later(struct thread *thread)
{
    int kernels[64];
    int count = tap_kernels(kernels);

    if (tap_on_kettle())
        kettle_migrate(kernels[thread->index % count]);
    UNTIL(tap_sleeps(0, getpid()), "the first thread to wait for the id");
}

void futex_test_clear_tid(void)
{
    for (int i = 0; i < 4; i++) {
        struct thread thread = {.index = i};
        struct timespec deadline = timespec_of(now(CLOCK_MONOTONIC) + PATIENCE * SECOND);
        long result = 0;
        int tid;

        if (!CHECK(thread_start(&thread, end_later), "%s", strerror(errno)))
            return;
        while ((tid = thread.tid) != 0 && result != -ETIMEDOUT)
            result = futex((word *)&thread.tid, WAIT_BITSET, (uint32_t)tid, &deadline, NULL, ANY);
        CHECK(thread.tid == 0, "nobody was woken: %ld", result);
        thread_join(&thread);
    }
}
