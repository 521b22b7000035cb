/* Waits that are made of others: for one of several words, and for a word and then a lock; and what is known of threads
 * that are elsewhere or nowhere. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/futex/futex.h"
#include "userland/x86.h"

#define WAIT_REQUEUE_PI 11
#define CMP_REQUEUE_PI 12
#define CALL_WAITV 449
#define WAITV_32 2
#define ROUNDS 200

struct waitv {
    uint64_t value, address;
    uint32_t flags, reserved;
};

static struct crew crew;
static word words[4], count_word;
static atomic_long counter;
static word pi;

static uint32_t own_id(void)
{
    return (uint32_t)x86_syscall0(SYS_gettid);
}

static long waitv(struct waitv *list, int count, const struct timespec *deadline)
{
    return x86_syscall(CALL_WAITV, (long)list, count, 0, (long)deadline, CLOCK_MONOTONIC, 0);
}

/* Waits for all four words; returns which of them it was, and what the call returned. */
static void wait_several(struct member *member)
{
    struct waitv list[4];
    int mine = member->index % 4;

    for (uint32_t round = 0; round < ROUNDS; round++) {
        long got;

        do {
            for (int i = 0; i < 4; i++)
                list[i] = (struct waitv){words[i], (uintptr_t)&words[i], WAITV_32 | PRIVATE, 0};
            if (list[mine].value > round)
                break;
            got = waitv(list, 4, NULL);
            if (got != -EAGAIN && (got < 0 || got > 3))
                atomic_fetch_add(&member->result, 1);
            if (got >= 0)
                atomic_fetch_add(&counter, 1);
        } while (words[mine] <= round);
        count_word++;
        futex_wake(&count_word, 1);
    }
}

void futex_test_several(void)
{
    int count = crew_size();
    long woken = 0;

    memset(words, 0, sizeof(words));
    count_word = 0;
    atomic_store(&counter, 0);
    crew_start(&crew, count, wait_several);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t value;

        for (int i = 0; i < 4; i++) {
            words[i]++;
            woken += futex_wake(&words[i], CREW_MAX);
        }
        while ((value = count_word) < (round + 1) * (uint32_t)count)
            futex_wait(&count_word, value);
    }
    CHECK(crew_end(&crew) == 0, "results that make no sense");
    CHECK(atomic_load(&counter) <= woken, "%ld waits say that they were woken, %ld wakes", atomic_load(&counter),
          woken);
}

static void wait_for_last(struct member *member)
{
    struct waitv list[4];

    for (int i = 0; i < 4; i++)
        list[i] = (struct waitv){0, (uintptr_t)&words[i], WAITV_32 | (i % 2 ? 0 : PRIVATE), 0};
    count_word++;
    member->result = waitv(list, 4, NULL);
}

void futex_test_several_errors(void)
{
    struct timespec past = {0, 1}, wrong = {0, SECOND}, soon = timespec_of(now(CLOCK_MONOTONIC) + 20 * MILLISECOND);
    struct waitv list[2] = {{0, (uintptr_t)&words[0], WAITV_32 | PRIVATE, 0},
                            {0, (uintptr_t)&words[1], WAITV_32 | PRIVATE, 0}};
    struct waitv bad = list[0];

    memset(words, 0, sizeof(words));
    count_word = 0;
    crew_start(&crew, 1, wait_for_last);
    wait_asleep(&crew, &count_word, 1);
    CHECK(futex_wake(&words[2], 1) == 1, "one waits for the third word");
    CHECK(crew_end(&crew) == 2, "and says so");
    CHECK(waitv(list, 2, &past) == -ETIMEDOUT && waitv(list, 2, &soon) == -ETIMEDOUT, "deadlines");
    CHECK(now(CLOCK_MONOTONIC) >= soon.tv_sec * SECOND + soon.tv_nsec, "not early");
    CHECK(waitv(list, 2, &wrong) == -EINVAL, "a deadline that is none");
    CHECK(waitv(list, 0, NULL) == -EINVAL && waitv(list, 129, NULL) == -EINVAL && waitv(NULL, 1, NULL) == -EINVAL,
          "numbers of words");
    CHECK(waitv((struct waitv *)8, 1, NULL) == -EFAULT, "words nowhere");
    bad.flags = PRIVATE;
    CHECK(waitv(&bad, 1, NULL) == -EINVAL, "no size");
    bad = list[0];
    bad.reserved = 1;
    CHECK(waitv(&bad, 1, NULL) == -EINVAL, "a reserved word");
    bad = list[0];
    bad.address++;
    CHECK(waitv(&bad, 1, NULL) == -EINVAL, "not aligned");
    bad.address = (uintptr_t)TAP_UNMAPPED;
    CHECK(waitv(&bad, 1, NULL) == -EFAULT, "not mapped");
    list[1].value = 5;
    CHECK(waitv(list, 2, NULL) == -EAGAIN, "another value");
    CHECK(x86_syscall(CALL_WAITV, (long)list, 2, 1, 0, 0, 0) == -EINVAL, "flags");
    CHECK(x86_syscall(CALL_WAITV, (long)list, 2, 0, (long)&soon, CLOCK_BOOTTIME, 0) == -EINVAL, "a clock");
}

/* As a condition variable whose mutex is a lock that names its owner. */
static void wait_then_lock(struct member *member)
{
    uint32_t value = words[0];
    long result;

    count_word++;
    do
        result = futex(&words[0], WAIT_REQUEUE_PI | PRIVATE, value, NULL, &pi, 0);
    while (result == -EAGAIN && words[0] == value);
    if (result == -EAGAIN)
        result = futex(&pi, LOCK_PI | PRIVATE, 0, NULL, NULL, 0);
    if (result != 0 || (pi & ~WAITERS) != own_id())
        atomic_fetch_add(&member->result, 1);
    atomic_store(&counter, atomic_load(&counter) + 1);
    futex(&pi, UNLOCK_PI | PRIVATE, 0, NULL, NULL, 0);
}

void futex_test_requeue_pi(void)
{
    int count = crew_size();
    struct timespec past = timespec_of(1);
    long woken;

    words[0] = 1;
    pi = count_word = 0;
    atomic_store(&counter, 0);
    crew_start(&crew, count, wait_then_lock);
    wait_asleep(&crew, &count_word, (uint32_t)count);
    CHECK(futex(&pi, LOCK_PI | PRIVATE, 0, NULL, NULL, 0) == 0, "the lock");
    CHECK(futex(&words[0], CMP_REQUEUE_PI | PRIVATE, 1, (void *)INT32_MAX, &pi, 7) == -EAGAIN, "another value");
    words[0]++;
    woken = futex(&words[0], CMP_REQUEUE_PI | PRIVATE, 1, (void *)INT32_MAX, &pi, words[0]);
    CHECK(woken >= 0 && woken <= count, "%ld of %d go to the lock", woken, count);
    sleep_ns(20 * MILLISECOND); /* time to take it wrongly */
    CHECK(atomic_load(&counter) == 0, "nobody has it while another does");
    CHECK(futex(&pi, UNLOCK_PI | PRIVATE, 0, NULL, NULL, 0) == 0, "unlock");
    CHECK(crew_end(&crew) == 0, "one that has not got the lock");
    CHECK(atomic_load(&counter) == count, "%ld had it", atomic_load(&counter));

    CHECK(futex(&words[0], WAIT_REQUEUE_PI | PRIVATE, words[0] + 1, NULL, &pi, 0) == -EAGAIN, "another value");
    CHECK(futex(&words[0], WAIT_REQUEUE_PI | PRIVATE, words[0], &past, &pi, 0) == -ETIMEDOUT, "a deadline");
    CHECK(futex(&words[0], WAIT_REQUEUE_PI | PRIVATE, words[0], NULL, &words[0], 0) == -EINVAL, "one word");
    CHECK(futex(&words[0], CMP_REQUEUE_PI | PRIVATE, 1, (void *)1, &words[0], words[0]) == -EINVAL, "one word");
    CHECK(futex(&words[0], CMP_REQUEUE_PI | PRIVATE, 2, (void *)1, &pi, words[0]) == -EINVAL, "more than one wake");
    CHECK(futex(&words[0], CMP_REQUEUE_PI | PRIVATE, 1, (void *)1, &pi, words[0]) == 0, "nobody waits");
}

static void end_at_once(struct member *member)
{
    member->result = (long)own_id();
}

static long ask_list(long id, void **list)
{
    size_t size = 0;
    long result = x86_syscall3(SYS_get_robust_list, id, (long)list, (long)&size);

    return result == 0 && size != 24 ? -1000 : result;
}

static void publish_id(struct member *member)
{
    static void *lists[CREW_MAX];

    x86_syscall3(SYS_set_robust_list, (long)&lists[member->index], 24, 0);
    lists[member->index] = &lists[member->index]; /* an empty list */
    words[member->index % 4] = own_id();
    member->result = (long)&lists[member->index];
    count_word++;
    while (pi == 0)
        futex_wait(&pi, 0);
    x86_syscall3(SYS_set_robust_list, 0, 24, 0);
    member->result = 0;
}

/* Of threads that are over, and of some that are on other kernels. */
void futex_test_owners(void)
{
    void *list = NULL;
    long gone, limit = now(CLOCK_MONOTONIC) + PATIENCE * SECOND;

    crew_start(&crew, 1, end_at_once);
    gone = crew_end(&crew);
    /* it has told of its end a moment before */
    while (x86_syscall3(SYS_tgkill, getpid(), gone, 0) == 0 && now(CLOCK_MONOTONIC) < limit)
        sleep_ns(MILLISECOND);
    pi = (uint32_t)gone;
    CHECK(futex(&pi, LOCK_PI | PRIVATE, 0, NULL, NULL, 0) == -ESRCH, "a lock of a thread that is over");
    CHECK(futex(&pi, TRYLOCK_PI | PRIVATE, 0, NULL, NULL, 0) == -ESRCH, "tried");
    CHECK(ask_list(gone, &list) == -ESRCH && ask_list(-1, &list) == -ESRCH, "its robust list");
    pi = 0;
    count_word = 0;
    crew_start(&crew, 4, publish_id);
    wait_for(&count_word, 4);
    for (int i = 0; i < 4; i++) {
        CHECK(ask_list((long)words[i], &list) == 0 && (long)list == crew.members[i].result,
              "the list of member %d is at %p, not at %lx", i, list, (long)crew.members[i].result);
    }
    CHECK(ask_list(0, &list) == 0 && x86_syscall3(SYS_get_robust_list, 0, 8, 8) == -EFAULT, "one's own");
    pi = 1;
    futex_wake(&pi, 4);
    CHECK(crew_end(&crew) == 0, "they end");
}
