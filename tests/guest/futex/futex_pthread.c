/* The C library's threads over kernels. Every test has its members on all kernels at once. */
#include <errno.h>
#include <semaphore.h>
#include <string.h>

#include "tests/guest/futex/futex.h"

#define LOCKS 2000 /* by each member */
#define ITEMS 1000
#define ROUNDS 300
#define SLOTS 3

static struct crew crew;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long counter; /* under mutex */

static void add_under_mutex(struct member *member)
{
    (void)member;
    for (int i = 0; i < LOCKS; i++) {
        pthread_mutex_lock(&mutex);
        counter++;
        pthread_mutex_unlock(&mutex);
    }
}

void futex_test_mutex(void)
{
    int count = crew_size();

    counter = 0;
    crew_start(&crew, count, add_under_mutex);
    crew_end(&crew);
    CHECK(counter == (long)count * LOCKS, "%ld increments", counter);
}

static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
static int filled; /* under mutex */
static long made, taken;

/* Members with even numbers make items, the others take them. */
static void make_or_take(struct member *member)
{
    bool makes = member->index % 2 == 0;

    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&mutex);
        if (makes) {
            while (filled == SLOTS)
                pthread_cond_wait(&not_full, &mutex);
            filled++;
            made++;
            pthread_cond_signal(&not_empty);
        } else {
            while (filled == 0)
                pthread_cond_wait(&not_empty, &mutex);
            filled--;
            taken++;
            if (filled == SLOTS - 1)
                pthread_cond_broadcast(&not_full);
        }
        pthread_mutex_unlock(&mutex);
    }
}

void futex_test_condition(void)
{
    int count = crew_size();

    filled = 0;
    made = taken = 0;
    crew_start(&crew, count, make_or_take);
    crew_end(&crew);
    CHECK(made == (long)count / 2 * ITEMS && taken == made && filled == 0, "%ld made, %ld taken, %d left", made, taken,
          filled);
}

static pthread_barrier_t barrier;
static _Atomic(long) arrived;

static void meet(struct member *member)
{
    for (int round = 1; round <= ROUNDS; round++) {
        int result;

        arrived++;
        result = pthread_barrier_wait(&barrier);
        if (result == PTHREAD_BARRIER_SERIAL_THREAD)
            member->result++;
        if (arrived < (long)round * member->crew->count)
            member->result += 1000000; /* went on before all had come */
        pthread_barrier_wait(&barrier);
    }
}

void futex_test_barrier(void)
{
    int count = crew_size();
    long sum;

    arrived = 0;
    pthread_barrier_init(&barrier, NULL, (unsigned int)count);
    crew_start(&crew, count, meet);
    sum = crew_end(&crew);
    CHECK(sum == ROUNDS, "%ld serial threads in %d rounds", sum, ROUNDS);
    pthread_barrier_destroy(&barrier);
}

static sem_t sems[CREW_MAX];

/* Each posts to the next and waits for the one before. */
static void pass_round(struct member *member)
{
    int next = (member->index + 1) % member->crew->count;

    for (int i = 0; i < ITEMS; i++) {
        if (sem_wait(&sems[member->index]) == 0)
            member->result++;
        sem_post(&sems[next]);
    }
}

void futex_test_semaphore(void)
{
    int count = crew_size();
    int value;
    long sum;

    for (int i = 0; i < count; i++)
        sem_init(&sems[i], 0, i == 0);
    crew_start(&crew, count, pass_round);
    sum = crew_end(&crew);
    CHECK(sum == (long)count * ITEMS, "%ld waits", sum);
    for (int i = 0; i < count; i++) {
        sem_getvalue(&sems[i], &value);
        CHECK(value == (i == 0), "semaphore %d is %d", i, value);
    }
}

static void return_at_once(struct member *member)
{
    member->result = member->index + 1;
}

void futex_test_join(void)
{
    int count = crew_size();

    for (int round = 0; round < 20; round++) {
        long sum;

        crew_start(&crew, count, return_at_once);
        sum = crew_end(&crew);
        if (!CHECK(sum == (long)count * (count + 1) / 2, "%ld", sum))
            return;
    }
}

static pthread_mutex_t robust;
static word holds;

/* The first member ends with the mutex; the others get it one by one and set it right. */
static void die_with_mutex(struct member *member)
{
    int error;

    if (member->index == 0) {
        pthread_mutex_lock(&robust);
        holds = 1;
        for (int i = 1; i < member->crew->count; i++)
            UNTIL(tap_sleeps(0, member->crew->members[i].tid), "the others to wait for the mutex");
        return;
    }
    wait_for(&holds, 1);
    error = pthread_mutex_lock(&robust);
    if (error == EOWNERDEAD) {
        member->result = 1;
        pthread_mutex_consistent(&robust);
    } else if (error != 0) {
        member->result = 1000;
    }
    pthread_mutex_unlock(&robust);
}

void futex_test_robust_mutex(void)
{
    pthread_mutexattr_t attributes;
    long sum;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attributes);
    holds = 0;
    crew_start(&crew, crew_size(), die_with_mutex);
    sum = crew_end(&crew);
    CHECK(sum == 1, "%ld members were told of the dead owner", sum);
}
