/* test-death: memory that processes share, whose maker was on the kernel that dies: its futex words have their queues
 * there, and have them elsewhere afterwards. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/machine/death.h"

#define FUTEX_WAIT 0
#define FUTEX_WAKE 1
#define FUTEX_LOCK_PI 6
#define FUTEX_UNLOCK_PI 7
#define FUTEX_WAIT_REQUEUE_PI 11
#define FUTEX_CMP_REQUEUE_PI 12
#define SOON 300 /* ms: between a silent death and its discovery, or sooner */
#define LATE 600000

struct shared {
    atomic_uint word, lock, parking;
};

enum part { OWNER, WORD, LOCK, PARKED, IN_VAIN, PARTS };

static long futex(atomic_uint *word, int operation, unsigned value, const void *time, atomic_uint *second)
{
    return syscall(SYS_futex, word, operation, value, time, second, 0);
}

static struct timespec after(long milliseconds)
{
    struct timespec time;

    clock_gettime(CLOCK_REALTIME, &time); /* FUTEX_LOCK_PI takes this clock */
    time.tv_sec += milliseconds / 1000;
    time.tv_nsec += milliseconds % 1000 * 1000000;
    if (time.tv_nsec >= 1000000000) {
        time.tv_sec++;
        time.tv_nsec -= 1000000000;
    }
    return time;
}

static void report(bool right, enum part part)
{
    if (!right)
        tap_note("part %d: %s", part, tap_error(errno));
    death_board->done[part] = right ? 1 : 2;
    _exit(0);
}

/* Waits for a value of the word. */
static void wait_for_word(struct shared *shared)
{
    long error = 0;

    while (shared->word == 0 && (error == 0 || errno == EAGAIN || errno == EINTR))
        error = futex(&shared->word, FUTEX_WAIT, 0, NULL, NULL);
    report(shared->word != 0, WORD);
}

/* Gets the lock when its owner releases it. */
static void wait_for_lock(struct shared *shared)
{
    const struct timespec late = after(LATE);

    report(futex(&shared->lock, FUTEX_LOCK_PI, 0, &late, NULL) == 0 &&
               futex(&shared->lock, FUTEX_UNLOCK_PI, 0, NULL, NULL) == 0,
           LOCK);
}

/* Its deadline passes before anybody knows of the death. */
static void wait_in_vain(struct shared *shared)
{
    const struct timespec soon = after(SOON);

    report(futex(&shared->lock, FUTEX_LOCK_PI, 0, &soon, NULL) == -1 && errno == ETIMEDOUT, IN_VAIN);
}

/* Is moved to the lock's queue by the owner; or finds that the value has changed first, as pthread_cond_wait does. */
static void wait_parked(struct shared *shared)
{
    const struct timespec late = after(LATE);
    long result;

    do
        result = futex(&shared->parking, FUTEX_WAIT_REQUEUE_PI, 0, &late, &shared->lock);
    while (result != 0 && (errno == EAGAIN || errno == EINTR) && shared->parking == 0);
    if (result != 0 && errno == EAGAIN)
        result = futex(&shared->lock, FUTEX_LOCK_PI, 0, &late, NULL);
    report(result == 0 && futex(&shared->lock, FUTEX_UNLOCK_PI, 0, NULL, NULL) == 0, PARKED);
}

/* Has the lock, and is told when the others may go on. */
static void own(struct shared *shared)
{
    bool right = futex(&shared->lock, FUTEX_LOCK_PI, 0, NULL, NULL) == 0;

    death_board->ready = 1;
    while (death_board->over == 0)
        sched_yield();
    right &= syscall(SYS_futex, &shared->parking, FUTEX_CMP_REQUEUE_PI, 1, 100L, &shared->lock, 0) >= 0;
    shared->parking = 1;
    shared->word = 1;
    right &= futex(&shared->word, FUTEX_WAKE, 1, NULL, NULL) >= 0;
    report(futex(&shared->lock, FUTEX_UNLOCK_PI, 0, NULL, NULL) == 0 && right, OWNER);
}

/* A thread of this process makes the memory on DYING. Its children have nothing there, and neither has the memory. */
static _Noreturn void make(int dying, int living)
{
    void (*const parts[])(struct shared * shared) = {own, wait_for_word, wait_for_lock, wait_parked, wait_in_vain};
    struct shared *shared;

    death_go(dying);
    shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    death_go(0);
    REQUIRE(shared != MAP_FAILED, "no memory: %s", tap_error(errno));
    memset(shared, 0, PAGE);
    for (int i = 0; i < PARTS; i++) {
        pid_t child = FORK();

        if (child == 0) {
            if (i % 2 != 0)
                death_go(living);
            parts[i](shared);
        }
        if (i == OWNER)
            UNTIL(death_board->ready == 1, "the lock to be taken");
        else
            UNTIL(tap_sleeps(child, child) || death_board->done[i] != 0, "a child to wait, or its deadline to pass");
    }
    death_board->ready = 2;
    for (;;)
        pause();
}

void death_test_maker(void)
{
    for (int how = 0; how <= KETTLE_KILL_HALT; how++) {
        int dying = death_victim(how);
        pid_t child;

        death_begin();
        child = FORK();
        if (child == 0)
            make(dying, death_neighbour(dying));
        UNTIL(death_board->ready == 2, "processes that wait");
        death_kill(dying, how);
        CHECK_DIES(child, SIGKILL);
        UNTIL(death_board->done[IN_VAIN] != 0, "a deadline");
        death_board->over = 1;
        for (int i = 0; i < PARTS; i++) {
            UNTIL(death_board->done[i] != 0, "a process to go on");
            CHECK(death_board->done[i] == 1, "%s: part %d", death_ways[how], i);
        }
        death_audit();
        death_start_again(dying);
    }
}
