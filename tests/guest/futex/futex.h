/* What the tests of futexes share: futex(2) without the C library, and crews of threads on all kernels.
 *
 * The C library has no header for the call; the numbers are those of linux/futex.h. */
#ifndef TESTS_GUEST_FUTEX_H
#define TESTS_GUEST_FUTEX_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "tests/guest/harness/tap.h"

#define WAIT 0
#define WAKE 1
#define REQUEUE 3
#define CMP_REQUEUE 4
#define WAKE_OP 5
#define LOCK_PI 6
#define UNLOCK_PI 7
#define TRYLOCK_PI 8
#define WAIT_BITSET 9
#define WAKE_BITSET 10
#define PRIVATE 128
#define REALTIME 256
#define WAITERS 0x80000000u
#define OWNER_DIED 0x40000000u
#define ANY 0xffffffffu

#define CREW_MAX 16
#define PATIENCE 120 /* seconds, until a test says that somebody sleeps for ever */
#define MILLISECOND 1000000l
#define SECOND 1000000000l

typedef _Atomic(uint32_t) word;

/* The call: a result or a negative errno. */
long futex(word *address, int operation, uint32_t value, const void *timeout, word *second, uint32_t value3);
long futex_wait(word *address, uint32_t value);
long futex_wake(word *address, int count);

long now(clockid_t clock); /* ns */
struct timespec timespec_of(long nanoseconds);
void sleep_ns(long nanoseconds);

/* Threads of a test. */
struct crew;
struct member {
    struct crew *crew;
    int index;
    pthread_t thread;
    word tid;           /* while it runs, or 0 */
    uint64_t random;    /* its own sequence: tap_random */
    atomic_long result; /* what it leaves; crew_run adds them up */
};

struct crew {
    int count;
    void (*run)(struct member *member);
    word left; /* members that have not ended */
    struct member members[CREW_MAX];
};

/* How many threads a crew may have that is to work everywhere: two for each kernel, 4 to CREW_MAX. */
int crew_size(void);
/* Starts COUNT threads that run RUN, spread over the kernels. */
bool crew_start(struct crew *crew, int count, void (*run)(struct member *member));
/* Waits until all have ended. When they do not within PATIENCE, says so and ends the program. Returns the sum of their
 * results. */
long crew_end(struct crew *crew);
/* Waits until *COUNTER is at least GOAL. Ends the program when that takes too long. */
void wait_for(word *counter, uint32_t goal);
/* As wait_for, and then until every thread of CREW that has not ended sleeps in a call that a signal would end, as a
 * wait for a futex is: of whoever does, the kernel has the place in its queue. */
void wait_asleep(struct crew *crew, word *counter, uint32_t goal);

/* The tests of futex_pthread.c, futex_owner.c, futex_signal.c, futex_shared.c, futex_objects.c,
 * futex_several.c and futex_priority.c. */
void futex_test_mutex(void);
void futex_test_condition(void);
void futex_test_barrier(void);
void futex_test_semaphore(void);
void futex_test_join(void);
void futex_test_robust_mutex(void);
void futex_test_pi_lock(void);
void futex_test_pi_errors(void);
void futex_test_robust_list(void);
void futex_test_robust_bad(void);
void futex_test_clear_tid(void);
void futex_test_count(void);
void futex_test_interrupted(void);
void futex_test_moved(void);
void futex_test_disturbed(void);
void futex_test_shared(void);
void futex_test_private_apart(void);
void futex_test_killed_owner(void);
void futex_test_objects(void);
void futex_test_object_changes(void);
void futex_test_objects_apart(void);
void futex_test_object_gone(void);
void futex_test_objects_forked(void);
void futex_test_object_leased(void);
void futex_test_several(void);
void futex_test_several_errors(void);
void futex_test_requeue_pi(void);
void futex_test_owners(void);
void futex_test_priority(void);

#endif
