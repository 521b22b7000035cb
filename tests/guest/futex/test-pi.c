/* test-pi: locks that lend their owner the priority of who waits for them (FUTEX_LOCK_PI, tasks/futex/pi/pi.md): over
 * kernels, along chains, for threads that move, give up, die, or get another priority while they wait. The same tests
 * run on Linux, on one kernel.
 *
 * Actors are threads that do what they are asked to, one thing after the other. What a thread runs with is told by
 * /proc/self/task/TID/stat: 20 for nice 0, -1 - P for real priority P.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/futex/futex.h"
#include "userland/x86.h"

#define WAIT_REQUEUE_PI 11
#define CMP_REQUEUE_PI 12
#define TID_MASK 0x3fffffffu
#define ACTORS 5
#define NORMAL 20 /* what a thread of nice 0 runs with */
#define RUNS(priority) (-1 - (priority))

enum act { TAKE, TAKE_UNTIL, GIVE, MOVE, BE, PARK, REQUEUE_ALL, LEAVE, EXIT };

struct actor {
    int index;
    pthread_t thread;
    int tid;
    word requested, begun, done; /* how often */
    enum act act;
    word *at;
    long value;
    long result;
};

static struct actor actors[ACTORS];
static word locks[ACTORS];
static word parked_at;
static word caught;
static int kernels[64];
static int kernel_count;

static long take_until(word *at, long until)
{
    struct timespec deadline = timespec_of(until);

    return futex(at, LOCK_PI | PRIVATE, 0, until != 0 ? &deadline : NULL, NULL, 0);
}

static long take(word *at)
{
    uint32_t expected = 0;

    if (atomic_compare_exchange_strong(at, &expected, (uint32_t)x86_syscall0(SYS_gettid)))
        return 0;
    return take_until(at, 0);
}

static long give(word *at)
{
    uint32_t expected = (uint32_t)x86_syscall0(SYS_gettid);

    if (atomic_compare_exchange_strong(at, &expected, 0))
        return 0;
    return futex(at, UNLOCK_PI | PRIVATE, 0, NULL, NULL, 0);
}

static long be(int tid, int priority)
{
    struct sched_param param = {.sched_priority = priority};

    return x86_syscall3(SYS_sched_setscheduler, tid, priority > 0 ? SCHED_FIFO : SCHED_OTHER, (long)&param);
}

static long go(long number)
{
    return tap_on_kettle() ? kettle_migrate(kernels[number % kernel_count]) : 0;
}

static long act(const struct actor *self)
{
    switch (self->act) {
    case TAKE:
        return take(self->at);
    case TAKE_UNTIL:
        return take_until(self->at, self->value);
    case GIVE:
        return give(self->at);
    case MOVE:
        return go(self->value);
    case BE:
        return be(0, (int)self->value);
    case PARK:
        return futex(&parked_at, WAIT_REQUEUE_PI | PRIVATE, (uint32_t)self->value, NULL, self->at, 0);
    case REQUEUE_ALL:
        return futex(&parked_at, CMP_REQUEUE_PI | PRIVATE, 1, (void *)INT32_MAX, self->at, parked_at);
    default:
        return 0;
    }
}

static void *play(void *argument)
{
    struct actor *self = argument;

    go(self->index);
    self->tid = (int)x86_syscall0(SYS_gettid);
    for (uint32_t seen = 0;;) {
        self->done = seen;
        futex_wake(&self->done, 1);
        while (self->requested == seen)
            futex_wait(&self->requested, seen);
        seen++;
        if (self->act == LEAVE || self->act == EXIT)
            break;
        self->begun = seen;
        self->result = act(self);
    }
    return NULL;
}

static _Noreturn void stuck(const char *what, long number)
{
    CHECK(false, "%s: %ld", what, number);
    fflush(stdout);
    _exit(1);
}

static void request(struct actor *actor, enum act what, word *at, long value)
{
    actor->act = what;
    actor->at = at;
    actor->value = value;
    actor->requested++;
    futex_wake(&actor->requested, 1);
}

static bool is_done(const struct actor *actor)
{
    return actor->done == actor->requested;
}

static long result_of(struct actor *actor)
{
    long end = now(CLOCK_MONOTONIC) + PATIENCE * SECOND;
    uint32_t seen;

    while ((seen = actor->done) != actor->requested) {
        struct timespec second = timespec_of(SECOND);

        futex(&actor->done, WAIT | PRIVATE, seen, &second, NULL, 0);
        if (now(CLOCK_MONOTONIC) > end)
            stuck("an actor is not done", actor->index);
    }
    return actor->result;
}

static long ask(struct actor *actor, enum act what, word *at, long value)
{
    request(actor, what, at, value);
    return result_of(actor);
}

/* What the actor's thread runs with, and at *STATE which letter proc(5) has for it; 1000: it is gone. */
static long runs_with(const struct actor *actor, char *state)
{
    char name[64];
    char text[512];
    const char *at;
    long value = 0;
    ssize_t got;
    int file;

    snprintf(name, sizeof(name), "/proc/self/task/%d/stat", actor->tid);
    file = open(name, O_RDONLY);
    got = file < 0 ? -1 : read(file, text, sizeof(text) - 1);
    if (file >= 0)
        close(file);
    if (got <= 0)
        return 1000;
    text[got] = '\0';
    at = strrchr(text, ')') + 2;
    *state = *at;
    for (int field = 3; field < 18; field++)
        at = strchr(at, ' ') + 1;
    value = strtol(at, NULL, 10);
    return value;
}

/* Waits until the actor runs with WANTED; says so when it does not in time. */
static bool comes_to(const struct actor *actor, long wanted, const char *when)
{
    long end = now(CLOCK_MONOTONIC) + PATIENCE * SECOND;
    char state;
    long is;

    while ((is = runs_with(actor, &state)) != wanted && now(CLOCK_MONOTONIC) < end)
        sleep_ns(MILLISECOND);
    return CHECK(is == wanted, "actor %d runs with %ld, not %ld, %s", actor->index, is, wanted, when);
}

/* Waits until the actor sleeps in what it was asked to do; before it has begun it sleeps until it hears of that. */
static void sleeps(const struct actor *actor)
{
    long end = now(CLOCK_MONOTONIC) + PATIENCE * SECOND;
    char state = 0;

    while (actor->begun != actor->requested || (runs_with(actor, &state), state != 'S') || is_done(actor)) {
        if (now(CLOCK_MONOTONIC) > end)
            stuck("an actor does not sleep", actor->index);
        sleep_ns(MILLISECOND);
    }
}

static void begin(void)
{
    kernel_count = tap_kernels(kernels);
    memset(locks, 0, sizeof(locks));
    parked_at = 1;
    for (int i = 0; i < ACTORS; i++) {
        actors[i] = (struct actor){.index = i, .done = 1};
        if (pthread_create(&actors[i].thread, NULL, play, &actors[i]) != 0)
            stuck("no thread", i);
    }
    for (int i = 0; i < ACTORS; i++)
        result_of(&actors[i]);
}

static void end(void)
{
    for (int i = 0; i < ACTORS; i++) {
        if (actors[i].act != EXIT)
            request(&actors[i], LEAVE, NULL, 0);
        pthread_join(actors[i].thread, NULL);
    }
}

/* Actor WHO, with real priority PRIORITY, waits for AT from now on. */
static void waits(int who, int priority, word *at)
{
    CHECK(ask(&actors[who], BE, NULL, priority) == 0, "priority %d: %ld", priority, actors[who].result);
    request(&actors[who], TAKE, at, 0);
}

static void test_lends(void)
{
    for (int who = 0; who < 3; who++) { /* on the lock's home, and on others */
        int other = (who + 1) % 3;

        begin();
        CHECK(ask(&actors[who], TAKE, &locks[0], 0) == 0, "free");
        waits(other, 20, &locks[0]);
        comes_to(&actors[who], RUNS(20), "while another waits");
        CHECK(x86_syscall1(SYS_sched_getscheduler, actors[who].tid) == SCHED_OTHER, "its own policy");
        CHECK(ask(&actors[who], GIVE, &locks[0], 0) == 0, "unlock");
        comes_to(&actors[who], NORMAL, "when it has unlocked");
        CHECK(result_of(&actors[other]) == 0 && (locks[0] & TID_MASK) == (uint32_t)actors[other].tid, "locks: %ld",
              actors[other].result);
        CHECK(ask(&actors[other], GIVE, &locks[0], 0) == 0 && locks[0] == 0, "the word is %x", locks[0]);
        comes_to(&actors[other], RUNS(20), "its own");
        end();
    }
}

static void test_moves(void)
{
    begin();
    ask(&actors[0], TAKE, &locks[0], 0);
    waits(1, 20, &locks[0]);
    comes_to(&actors[0], RUNS(20), "while another waits");
    for (int i = 1; i <= 2 * kernel_count; i++) {
        CHECK(ask(&actors[0], MOVE, NULL, i) == 0, "move: %ld", actors[0].result);
        comes_to(&actors[0], RUNS(20), "where it has moved");
        if (i == kernel_count) { /* lent while it is elsewhere, and on its way */
            request(&actors[0], MOVE, NULL, i + 1);
            waits(2, 30, &locks[0]);
            result_of(&actors[0]);
            comes_to(&actors[0], RUNS(30), "when one more waits");
            be(actors[2].tid, 10);
            comes_to(&actors[0], RUNS(20), "when that has less");
        }
    }
    CHECK(ask(&actors[0], GIVE, &locks[0], 0) == 0, "unlock");
    comes_to(&actors[0], NORMAL, "when it has unlocked");
    ask(&actors[0], MOVE, NULL, 1);
    comes_to(&actors[0], NORMAL, "afterwards");
    CHECK(result_of(&actors[1]) == 0, "the first");
    comes_to(&actors[1], RUNS(20), "its own");
    CHECK(ask(&actors[1], GIVE, &locks[0], 0) == 0 && result_of(&actors[2]) == 0, "the second");
    ask(&actors[2], GIVE, &locks[0], 0);
    end();
}

/* Actor WHO waits with PRIORITY until a time that is long enough for HOLDER to be seen to run with SEEN; gives up. */
static void waits_in_vain(int who, int priority, word *at, int holder, long seen)
{
    char state;

    ask(&actors[who], BE, NULL, priority);
    for (long patience = 200 * MILLISECOND; patience < PATIENCE * SECOND; patience *= 2) {
        bool came = false;

        request(&actors[who], TAKE_UNTIL, at, now(CLOCK_REALTIME) + patience);
        while (!is_done(&actors[who]))
            came = came || runs_with(&actors[holder], &state) == seen;
        CHECK(result_of(&actors[who]) == -ETIMEDOUT, "in vain: %ld", actors[who].result);
        if (came)
            return;
    }
    CHECK(false, "actor %d never ran with %ld", holder, seen);
}

static void test_highest(void)
{
    begin();
    ask(&actors[0], TAKE, &locks[0], 0);
    waits(1, 20, &locks[0]);
    comes_to(&actors[0], RUNS(20), "while one waits");
    waits_in_vain(2, 30, &locks[0], 0, RUNS(30));
    comes_to(&actors[0], RUNS(20), "when the other has given up");
    waits_in_vain(2, 10, &locks[0], 0, RUNS(20));
    comes_to(&actors[0], RUNS(20), "when one of less has given up");
    waits(3, 15, &locks[0]);
    waits(4, 40, &locks[0]);
    comes_to(&actors[0], RUNS(40), "when a third waits");
    sleeps(&actors[3]);
    CHECK(ask(&actors[0], GIVE, &locks[0], 0) == 0, "unlock");
    CHECK((locks[0] & TID_MASK) == (uint32_t)actors[4].tid, "the highest is next: %x", locks[0]);
    comes_to(&actors[0], NORMAL, "when it has unlocked");
    CHECK(result_of(&actors[4]) == 0 && ask(&actors[4], BE, NULL, 0) == 0, "the highest");
    if (tap_on_kettle()) /* Linux forgets it, for a lock that was handed over */
        comes_to(&actors[4], RUNS(20), "with what the others lend");
    ask(&actors[4], GIVE, &locks[0], 0);
    CHECK(result_of(&actors[1]) == 0 && ask(&actors[1], GIVE, &locks[0], 0) == 0, "the second");
    CHECK(result_of(&actors[3]) == 0 && ask(&actors[3], GIVE, &locks[0], 0) == 0, "the third");
    CHECK(locks[0] == 0, "the word is %x", locks[0]);
    end();
}

static void test_changes(void)
{
    begin();
    ask(&actors[0], TAKE, &locks[0], 0);
    waits(1, 20, &locks[0]);
    comes_to(&actors[0], RUNS(20), "while another waits");
    CHECK(be(actors[1].tid, 35) == 0, "more");
    comes_to(&actors[0], RUNS(35), "when that has more");
    CHECK(be(actors[0].tid, 50) == 0, "the owner's own");
    comes_to(&actors[0], RUNS(50), "its own");
    CHECK(be(actors[0].tid, 5) == 0, "the owner's own");
    comes_to(&actors[0], RUNS(35), "lent again");
    CHECK(be(actors[0].tid, 0) == 0 && be(actors[1].tid, 0) == 0, "none");
    comes_to(&actors[0], NORMAL, "when the other has none");
    ask(&actors[0], GIVE, &locks[0], 0);
    CHECK(result_of(&actors[1]) == 0 && ask(&actors[1], GIVE, &locks[0], 0) == 0, "the other");
    end();
}

static void test_nice(void)
{
    if (!tap_on_kettle()) {
        tap_skip("nice values are not inherited on Linux");
        return;
    }
    begin();
    ask(&actors[0], TAKE, &locks[0], 0);
    CHECK(setpriority(PRIO_PROCESS, (id_t)actors[1].tid, -5) == 0, "nice: %s", strerror(errno));
    request(&actors[1], TAKE, &locks[0], 0);
    comes_to(&actors[0], NORMAL - 5, "while another waits");
    CHECK(setpriority(PRIO_PROCESS, (id_t)actors[1].tid, -10) == 0, "nice: %s", strerror(errno));
    comes_to(&actors[0], NORMAL - 10, "when that is less nice");
    CHECK(setpriority(PRIO_PROCESS, (id_t)actors[1].tid, 5) == 0, "nice: %s", strerror(errno));
    comes_to(&actors[0], NORMAL, "when that is nicer");
    ask(&actors[0], GIVE, &locks[0], 0);
    CHECK(result_of(&actors[1]) == 0 && ask(&actors[1], GIVE, &locks[0], 0) == 0, "the other");
    end();
}

/* Actor i has lock i, and waits for lock i - 1. */
static void make_chain(int length)
{
    for (int i = 0; i < length; i++)
        ask(&actors[i], TAKE, &locks[i], 0);
    for (int i = 1; i < length; i++) {
        request(&actors[i], TAKE, &locks[i - 1], 0);
        sleeps(&actors[i]);
    }
}

static void test_chain(void)
{
    begin();
    make_chain(4);
    waits_in_vain(4, 25, &locks[3], 0, RUNS(25));
    for (int i = 0; i < 4; i++)
        comes_to(&actors[i], NORMAL, "when nobody is behind");
    request(&actors[4], TAKE, &locks[3], 0);
    for (int i = 0; i < 4; i++)
        comes_to(&actors[i], RUNS(25), "in the chain");
    be(actors[4].tid, 45);
    for (int i = 0; i < 4; i++)
        comes_to(&actors[i], RUNS(45), "when there is more behind");
    CHECK(ask(&actors[0], MOVE, NULL, 2) == 0, "move");
    comes_to(&actors[0], RUNS(45), "where it has moved");
    for (int i = 0; i < 4; i++) {
        CHECK(ask(&actors[i], GIVE, &locks[i], 0) == 0, "unlock %d", i);
        CHECK(result_of(&actors[i + 1]) == 0, "the next");
        CHECK((locks[i] & TID_MASK) == (uint32_t)actors[i + 1].tid, "lock %d is %x", i, locks[i]);
        comes_to(&actors[i], NORMAL, "when it has unlocked");
        if (i < 3)
            comes_to(&actors[i + 1], RUNS(45), "whoever is next");
        CHECK(ask(&actors[i + 1], GIVE, &locks[i], 0) == 0, "unlock %d", i);
    }
    end();
}

static void test_cycle(void)
{
    for (int length = 2; length <= ACTORS; length++) {
        begin();
        make_chain(length);
        CHECK(ask(&actors[0], TAKE, &locks[length - 1], 0) == -EDEADLK, "a cycle of %d: %ld", length, actors[0].result);
        comes_to(&actors[0], NORMAL, "when it has been refused");
        for (int i = 0; i < length; i++) {
            CHECK(ask(&actors[i], GIVE, &locks[i], 0) == 0, "unlock %d", i);
            if (i + 1 < length)
                CHECK(result_of(&actors[i + 1]) == 0 && ask(&actors[i + 1], GIVE, &locks[i], 0) == 0, "lock %d", i);
        }
        end();
    }
}

/* Both close the cycle at the same time: it is found; on Linux both may find it. */
static void test_cycle_at_once(void)
{
    begin();
    for (int round = 0; round < 100; round++) {
        int refused;

        ask(&actors[0], TAKE, &locks[0], 0);
        ask(&actors[1], TAKE, &locks[1], 0);
        request(&actors[0], TAKE, &locks[1], 0);
        request(&actors[1], TAKE, &locks[0], 0);
        while (!is_done(&actors[0]) && !is_done(&actors[1]))
            sched_yield();
        for (int i = 0; i < 2; i++) { /* who was refused gives its own back, then the other goes on */
            if (is_done(&actors[i]) && actors[i].result == -EDEADLK) {
                refused = i;
                break;
            }
            refused = 1 - i;
        }
        CHECK(result_of(&actors[refused]) == -EDEADLK, "round %d: %ld", round, actors[refused].result);
        ask(&actors[refused], GIVE, &locks[refused], 0);
        result_of(&actors[1 - refused]);
        if (actors[1 - refused].result == 0)
            ask(&actors[1 - refused], GIVE, &locks[refused], 0);
        else
            CHECK(!tap_on_kettle() && actors[1 - refused].result == -EDEADLK, "round %d, the other: %ld", round,
                  actors[1 - refused].result);
        ask(&actors[1 - refused], GIVE, &locks[1 - refused], 0);
        if (!CHECK(locks[0] == 0 && locks[1] == 0, "round %d: %x %x", round, locks[0], locks[1]))
            break;
    }
    end();
}

static void test_requeue(void)
{
    begin();
    for (int i = 1; i < 4; i++) {
        ask(&actors[i], BE, NULL, i == 1 ? 20 : i == 2 ? 30 : 0);
        request(&actors[i], PARK, &locks[0], 1);
        sleeps(&actors[i]);
    }
    ask(&actors[0], TAKE, &locks[0], 0);
    CHECK(ask(&actors[0], REQUEUE_ALL, &locks[0], 0) == 3, "requeued: %ld", actors[0].result);
    comes_to(&actors[0], RUNS(30), "when those it has requeued wait for its lock");
    CHECK(be(actors[1].tid, 40) == 0, "more");
    comes_to(&actors[0], RUNS(40), "when one of them has more");
    CHECK(be(actors[1].tid, 20) == 0, "less");
    comes_to(&actors[0], RUNS(30), "when that has less");
    CHECK(ask(&actors[0], GIVE, &locks[0], 0) == 0, "unlock");
    CHECK((locks[0] & TID_MASK) == (uint32_t)actors[2].tid, "the highest has it: %x", locks[0]);
    CHECK(result_of(&actors[2]) == 0 && ask(&actors[2], GIVE, &locks[0], 0) == 0, "the highest: %ld", actors[2].result);
    CHECK(result_of(&actors[1]) == 0 && ask(&actors[1], GIVE, &locks[0], 0) == 0, "the next: %ld", actors[1].result);
    CHECK(result_of(&actors[3]) == 0 && ask(&actors[3], GIVE, &locks[0], 0) == 0, "the last: %ld", actors[3].result);
    CHECK(locks[0] == 0, "the word is %x", locks[0]);
    for (int i = 1; i < 3; i++) { /* to a lock that is free */
        request(&actors[i], PARK, &locks[0], 1);
        sleeps(&actors[i]);
    }
    CHECK(ask(&actors[0], REQUEUE_ALL, &locks[0], 0) == 2, "requeued: %ld", actors[0].result);
    CHECK((locks[0] & TID_MASK) == (uint32_t)actors[2].tid, "the highest has it: %x", locks[0]);
    comes_to(&actors[0], NORMAL, "who has requeued");
    CHECK(result_of(&actors[2]) == 0 && ask(&actors[2], BE, NULL, 0) == 0, "the highest: %ld", actors[2].result);
    comes_to(&actors[2], RUNS(20), "with what the other lends");
    ask(&actors[2], GIVE, &locks[0], 0);
    CHECK(result_of(&actors[1]) == 0 && ask(&actors[1], GIVE, &locks[0], 0) == 0, "the other: %ld", actors[1].result);
    request(&actors[1], PARK, &locks[1], 1);
    sleeps(&actors[1]);
    CHECK(ask(&actors[0], REQUEUE_ALL, &locks[0], 0) == -EINVAL, "another lock: %ld", actors[0].result);
    CHECK(ask(&actors[0], REQUEUE_ALL, &locks[1], 0) == 1, "its lock: %ld", actors[0].result);
    CHECK(result_of(&actors[1]) == 0 && ask(&actors[1], GIVE, &locks[1], 0) == 0, "it: %ld", actors[1].result);
    end();
}

static void test_owner_ends(void)
{
    begin();
    ask(&actors[0], TAKE, &locks[0], 0);
    waits(1, 20, &locks[0]);
    waits(2, 10, &locks[0]);
    comes_to(&actors[0], RUNS(20), "while others wait");
    sleeps(&actors[2]);
    request(&actors[0], EXIT, NULL, 0); /* without a robust list */
    CHECK(result_of(&actors[1]) == 0, "locks: %ld", actors[1].result);
    CHECK((locks[0] & (TID_MASK | OWNER_DIED)) == ((uint32_t)actors[1].tid | OWNER_DIED), "the word is %x", locks[0]);
    CHECK(ask(&actors[1], GIVE, &locks[0], 0) == 0 && result_of(&actors[2]) == 0, "the next");
    CHECK(ask(&actors[2], GIVE, &locks[0], 0) == 0 && locks[0] == 0, "the word is %x", locks[0]);
    end();
}

/* Who was handed a lock stores 0 itself, or gives its memory away: what comes to be there is no lock of its. */
static void test_forgotten(void)
{
    uint32_t expected = 0;

    begin();
    CHECK(ask(&actors[0], TAKE, &locks[0], 0) == 0, "free");
    waits(1, 20, &locks[0]);
    sleeps(&actors[1]);
    CHECK(ask(&actors[0], GIVE, &locks[0], 0) == 0 && result_of(&actors[1]) == 0, "handed over");
    locks[0] = 0;
    CHECK(ask(&actors[2], TAKE, &locks[0], 0) == 0, "free again");
    waits(3, 0, &locks[0]);
    sleeps(&actors[3]);
    CHECK(ask(&actors[2], GIVE, &locks[0], 0) == 0, "unlock");
    CHECK(result_of(&actors[3]) == 0 && (locks[0] & TID_MASK) == (uint32_t)actors[3].tid, "has it: %ld, %x",
          actors[3].result, locks[0]);
    CHECK(ask(&actors[3], GIVE, &locks[0], 0) == 0, "unlock");
    CHECK(atomic_compare_exchange_strong(&locks[0], &expected, 0), "the word is %x", locks[0]);
    end();
}

static void on_signal(int number)
{
    (void)number;
    caught++;
}

static void test_signal(void)
{
    struct sigaction action = {.sa_handler = on_signal};

    sigaction(SIGUSR1, &action, NULL);
    begin();
    ask(&actors[0], TAKE, &locks[0], 0);
    waits(1, 20, &locks[0]);
    caught = 0;
    for (uint32_t i = 1; i <= 20; i++) {
        sleeps(&actors[1]);
        x86_syscall3(SYS_tgkill, getpid(), actors[1].tid, SIGUSR1);
        wait_for(&caught, i);
    }
    comes_to(&actors[0], RUNS(20), "after signals");
    CHECK(!is_done(&actors[1]), "it waits again");
    CHECK(ask(&actors[0], GIVE, &locks[0], 0) == 0 && result_of(&actors[1]) == 0, "locks: %ld", actors[1].result);
    comes_to(&actors[0], NORMAL, "when it has unlocked");
    ask(&actors[1], GIVE, &locks[0], 0);
    end();
}

/* A process of its own waits for a lock in memory that is shared, and is killed. */
static void test_killed(void)
{
    word *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct actor self = {.index = -1, .tid = (int)x86_syscall0(SYS_gettid)};

    kernel_count = tap_kernels(kernels);
    CHECK(futex(shared, LOCK_PI, 0, NULL, NULL, 0) == 0, "free");
    for (int i = 0; i < 4; i++) {
        pid_t child = fork();

        if (child == 0) {
            go(i + 1);
            be(0, 20 + i);
            futex(shared, LOCK_PI, 0, NULL, NULL, 0);
            _exit(1);
        }
        comes_to(&self, RUNS(20 + i), "while another process waits");
        go(i);
        comes_to(&self, RUNS(20 + i), "where it has moved");
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        comes_to(&self, NORMAL, "when that was killed");
    }
    CHECK(futex(shared, UNLOCK_PI, 0, NULL, NULL, 0) == 0 && *shared == 0, "the word is %x", *shared);
    munmap(shared, 4096);
}

#define DEATHS 40

/* A process is killed while it learns from other kernels, again and again, that the lock's owner does not exist. It
 * must not go on asking until an owner comes to be. */
static void test_killed_asking(void)
{
    word *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t gone = fork();

    if (gone == 0)
        _exit(0);
    CHECK(waitpid(gone, NULL, 0) == gone, "the owner has ended");
    kernel_count = tap_kernels(kernels);
    for (uint32_t i = 0; i < DEATHS; i++) {
        pid_t child;
        int status = 0;

        shared[0] = (uint32_t)gone;
        shared[1] = 0;
        child = fork();
        if (child == 0) {
            go(i);
            while (futex(shared, LOCK_PI, 0, NULL, NULL, 0) == -ESRCH)
                shared[1]++;
            _exit(1);
        }
        while (shared[1] < 3 + i && waitpid(child, &status, WNOHANG) == 0)
            sched_yield();
        kill(child, SIGKILL);
        CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status), "it dies: %x", status);
    }
    CHECK((shared[0] & TID_MASK) == (uint32_t)gone, "the word is %x", shared[0]);
    munmap(shared, 4096);
}

#define TURNS 400

static long held[2]; /* under locks 0 and 1 */

/* The number of members that do not lock any more. */
static atomic_int done_mixing;

/* Nobody waits for a lock any more, so the caller, which owns none, runs with its own priority. Before that it may not:
 * who read the word before the owner released the lock donates to that owner until it has read the word again. */
static void expect_nothing_inherited(struct member *member)
{
    struct actor self = {.index = member->index, .tid = (int)x86_syscall0(SYS_gettid)};
    long end = now(CLOCK_MONOTONIC) + PATIENCE * SECOND, is;
    char state;

    atomic_fetch_add(&done_mixing, 1);
    while (atomic_load(&done_mixing) < crew_size() && now(CLOCK_MONOTONIC) < end)
        sleep_ns(MILLISECOND);
    is = runs_with(&self, &state);
    if (atomic_load(&done_mixing) < crew_size())
        member->result = 1000000;
    else if (is != NORMAL)
        member->result = is * 1000;
}

/* Locks one or two, in order, giving up now and then, and moves with what it has. */
static void mix(struct member *member)
{
    for (int i = 0; i < TURNS; i++) {
        uint64_t random = tap_random(&member->random);
        long until = random % 3 == 0 ? now(CLOCK_REALTIME) + (long)(random >> 8) % (2 * MILLISECOND) : 0;
        int first = (int)(random >> 4 & 1);
        long error;

        if (random >> 40 & 1)
            be(0, (int)(random >> 41) % 40);
        error = take_until(&locks[0], until);
        if (error == -ETIMEDOUT)
            continue;
        if (error == 0 && first != 0 && (error = take(&locks[1])) == 0) {
            held[1]++;
            if ((random >> 32) % 4 == 0)
                go((long)(random >> 34));
            error = give(&locks[1]);
        }
        held[0]++;
        if (error == 0)
            error = give(&locks[0]);
        if (error != 0 && member->result == 0)
            member->result = error;
    }
    be(0, 0);
    member->result += give(&locks[2]) == -EPERM ? 0 : 1;
    expect_nothing_inherited(member);
}

static void test_mix(void)
{
    static struct crew crew;
    long sum;

    kernel_count = tap_kernels(kernels);
    memset(locks, 0, sizeof(locks));
    atomic_store(&done_mixing, 0);
    crew_start(&crew, crew_size(), mix);
    sum = crew_end(&crew);
    CHECK(sum == 0, "errors add up to %ld", sum);
    CHECK((locks[0] & TID_MASK) == 0 && (locks[1] & TID_MASK) == 0, "the words are %x %x", locks[0], locks[1]);
    tap_note("%ld and %ld times locked", held[0], held[1]);
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"lends", "an owner inherits the priority of a waiter on any kernel until it unlocks", test_lends},
        {"moves", "an inherited priority follows an owner that moves", test_moves},
        {"highest", "an owner inherits the highest of several priorities, and that waiter gets the lock next",
         test_highest},
        {"changes", "an owner inherits a priority that its waiter is given while it waits", test_changes},
        {"nice", "an owner inherits the nice value of a waiter that is less nice", test_nice},
        {"chain", "a priority is inherited along a chain of locks, and given back along it", test_chain},
        {"cycle", "a cycle of locks is refused with EDEADLK", test_cycle},
        {"cycle-at-once", "of two threads that close a cycle at once one is refused", test_cycle_at_once},
        {"requeue", "an owner inherits from a waiter that is requeued to its lock, which then gets the lock",
         test_requeue},
        {"owner-ends", "an owner that ends leaves its lock to the next waiter", test_owner_ends},
        {"forgotten", "a lock whose word its owner has cleared is free for others", test_forgotten},
        {"signal", "an interrupted waiter is inherited from again when it waits again", test_signal},
        {"killed", "an owner inherits nothing from a waiter that was killed", test_killed},
        {"killed-asking", "a thread that finds no owner of a lock can be killed", test_killed_asking},
        {"mix", "locks exclude, and no inherited priority stays, however waits end", test_mix},
    };

    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
