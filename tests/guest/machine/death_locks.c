/* The part of test-death about locks whose owner was on the kernel that has died: those in memory of processes that
 * live on are released as by the owner's end. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/machine/death.h"

#define FUTEX_LOCK_PI 6
#define FUTEX_TRYLOCK_PI 8
#define OWNER_DIED 0x40000000u
#define WAITERS 0x80000000u
#define TID_MASK 0x3fffffffu
#define LOCKS 4 /* plain and PI, waited for and not */
#define SHARED "/tmp/death-shared"

struct locks {
    pthread_mutex_t is[LOCKS];
};

/* Makes LOCKS, in memory that processes share. */
static struct locks *make_locks(struct locks *locks)
{
    pthread_mutexattr_t how;

    for (int i = 0; i < LOCKS; i++) {
        MUST(-pthread_mutexattr_init(&how));
        MUST(-pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED));
        MUST(-pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST));
        MUST(-pthread_mutexattr_setprotocol(&how, i % 2 == 0 ? PTHREAD_PRIO_NONE : PTHREAD_PRIO_INHERIT));
        MUST(-pthread_mutex_init(&locks->is[i], &how));
    }
    return locks;
}

/* Where the thread takes its first lock, and so sets its list: on the kernel that dies, also of a process whose home
 * stops afterwards, at home, or on a third kernel. */
enum where { THERE, AT_HOME, ON_THE_WAY, THERE_HANDED_OVER, WHERES };

struct holding {
    struct locks *locks;
    int kernel, third;
    enum where where;
};

static void take_all(struct locks *locks)
{
    for (int i = 0; i < LOCKS; i++)
        MUST(-pthread_mutex_lock(&locks->is[i]));
}

static void *hold(void *context)
{
    struct holding *holding = context;

    if (holding->where == ON_THE_WAY)
        death_go(holding->third);
    if (holding->where == AT_HOME || holding->where == ON_THE_WAY)
        take_all(holding->locks);
    death_go(holding->kernel);
    if (holding->where == THERE || holding->where == THERE_HANDED_OVER)
        take_all(holding->locks);
    atomic_fetch_add(&death_board->ready, 1);
    for (;;)
        pause();
    return NULL;
}

/* A thread there of a process that is at home elsewhere holds robust locks. */
static void robust(int turn)
{
    int dying = death_victim(turn), living = death_neighbour(dying);
    struct holding holding = {.kernel = dying, .third = living, .where = (enum where)(turn % WHERES)};
    bool stops = holding.where == THERE_HANDED_OVER && living != 0;
    pid_t holder, waiters[2];

    death_begin();
    holding.locks = make_locks(tap_share(sizeof(*holding.locks)));
    if (stops) /* the child is at home there */
        death_go(living);
    holder = FORK();
    if (holder == 0) {
        pthread_t thread;

        MUST(-pthread_create(&thread, NULL, hold, &holding));
        for (;;)
            pause();
    }
    death_go(0);
    UNTIL(death_board->ready == 1, "the locks to be taken");
    if (stops)
        MUST(kettle_stop(living));
    for (int i = 0; i < 2; i++) {
        waiters[i] = FORK();
        if (waiters[i] == 0) {
            death_go(i == 0 && !stops ? living : 0);
            _exit(pthread_mutex_lock(&holding.locks->is[i]) == EOWNERDEAD ? 7 : 8);
        }
        UNTIL(tap_sleeps(waiters[i], waiters[i]), "a waiter");
    }
    death_kill(dying, turn % (KETTLE_KILL_HALT + 1));
    CHECK_DIES(holder, SIGKILL);
    for (int i = 0; i < 2; i++)
        CHECK_EXITS(waiters[i], 7);
    for (int i = 2; i < LOCKS; i++) { /* nobody waited for these */
        int error = pthread_mutex_trylock(&holding.locks->is[i]);

        CHECK(error == EOWNERDEAD, "lock %d: %s", i, tap_error(error));
    }
    MUST(munmap(holding.locks, sizeof(*holding.locks)));
    death_audit();
    death_start_again(dying);
    if (stops)
        death_start_again(living);
}

void death_test_robust(void)
{
    for (int turn = 0; turn < WHERES; turn++)
        robust(turn);
}

/* More threads than a kernel has notes at the home of their process, each with a lock that it takes there. */
#define MANY 280

struct holding_one {
    pthread_mutex_t lock;
    int kernel;
};

static void *hold_one(void *context)
{
    struct holding_one *holding = context;

    death_go(holding->kernel);
    MUST(-pthread_mutex_lock(&holding->lock));
    atomic_fetch_add(&death_board->ready, 1);
    for (;;)
        pause();
    return NULL;
}

static _Noreturn void be_holders(struct holding_one *holdings)
{
    pthread_t thread;

    for (int i = 0; i < MANY; i++)
        MUST(-pthread_create(&thread, NULL, hold_one, &holdings[i]));
    for (;;)
        pause();
}

void death_test_robust_many(void)
{
    struct holding_one *holdings = tap_share(MANY * sizeof(*holdings));
    int dying = death_victim(0), locked = 0;
    pthread_mutexattr_t how;
    pid_t holder;

    death_begin();
    MUST(-pthread_mutexattr_init(&how));
    MUST(-pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED));
    MUST(-pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST));
    for (int i = 0; i < MANY; i++) {
        holdings[i].kernel = dying;
        MUST(-pthread_mutex_init(&holdings[i].lock, &how));
    }
    holder = FORK();
    if (holder == 0)
        be_holders(holdings);
    UNTIL(death_board->ready == MANY, "the locks to be taken");
    death_kill(dying, 0);
    CHECK_DIES(holder, SIGKILL);
    for (int i = 0; i < MANY; i++)
        locked += pthread_mutex_trylock(&holdings[i].lock) != EOWNERDEAD;
    CHECK(locked == 0, "%d of %d locks are not those of a dead owner", locked, MANY);
    MUST(munmap(holdings, MANY * sizeof(*holdings)));
    death_audit();
    death_start_again(dying);
}

/* Descriptor 3 is a file: this process maps it and takes the two locks in it. */
int death_home_pi(int argc, char **argv)
{
    atomic_uint *words = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, 3, 0);

    (void)argc;
    (void)argv;
    if (words == MAP_FAILED)
        return 90;
    for (int i = 0; i < 2; i++)
        words[i] = (unsigned)syscall(SYS_gettid);
    words[2] = 1;
    for (;;)
        pause();
}

/* A process at home there owns locks of FUTEX_LOCK_PI; no kernel knows which, but who waits for one does. */
void death_test_pi(void)
{
    int dying = death_victim(0), fds[] = {0, 1, 2, -1, KETTLE_FDS_END};
    char *argv[] = {(char *)(uintptr_t)tap_self(), "@pi", NULL};
    unsigned tid = (unsigned)syscall(SYS_gettid);
    pid_t child, waiters[2];
    atomic_uint *words;

    death_begin();
    fds[3] = (int)MUST(open(SHARED, O_RDWR | O_CREAT | O_TRUNC, 0600));
    MUST(ftruncate(fds[3], PAGE));
    words = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fds[3], 0);
    REQUIRE(words != MAP_FAILED, "no memory: %s", tap_error(errno));
    child = kettle_spawn(dying, argv[0], argv, (char *[]){NULL}, fds);
    CHECK(child > 0, "spawn on kernel %d: %s", dying, tap_error(errno));
    UNTIL(words[2] == 1, "the locks to be taken");
    for (int i = 0; i < 2; i++) { /* the second waits for the first one then */
        waiters[i] = FORK();
        if (waiters[i] == 0) {
            death_go(i == 0 ? 0 : death_neighbour(dying));
            MUST(syscall(SYS_futex, &words[0], FUTEX_LOCK_PI, 0, NULL, NULL, 0));
            CHECK((words[0] & TID_MASK) == (unsigned)syscall(SYS_gettid), "the word is %x", words[0]);
            atomic_fetch_add(&death_board->woken, (words[0] & OWNER_DIED) != 0);
            MUST(syscall(SYS_futex, &words[0], 7, 0, NULL, NULL, 0)); /* FUTEX_UNLOCK_PI */
            _exit(9);
        }
        UNTIL(tap_sleeps(waiters[i], waiters[i]), "a waiter");
    }
    death_kill(dying, KETTLE_KILL_NOW);
    CHECK_DIES(child, SIGKILL);
    for (int i = 0; i < 2; i++)
        CHECK_EXITS(waiters[i], 9);
    CHECK(death_board->woken == 1, "%d threads were told that its owner has died, and not the next one",
          death_board->woken);
    MUST(syscall(SYS_futex, &words[1], FUTEX_TRYLOCK_PI, 0, NULL, NULL, 0));
    CHECK(words[1] == (OWNER_DIED | tid), "the word is %x", words[1]);
    MUST(munmap(words, PAGE));
    close(fds[3]);
    unlink(SHARED);
    death_audit();
    death_start_again(dying);
}

/* --- an owner that was born on a kernel whose role the dying one has taken over --- */

static atomic_uint *words_moved;

/* Born on the kernel that is about to stop; owns two words, on kernel 0. */
static void *own(void *unused)
{
    death_go(0);
    words_moved[0] = (unsigned)syscall(SYS_gettid);
    words_moved[1] = (unsigned)syscall(SYS_gettid) | WAITERS;
    words_moved[2] = 1;
    for (;;)
        pause();
    return unused;
}

static _Noreturn void own_elsewhere(int kernel)
{
    pthread_t thread;

    death_go(kernel);
    MUST(-pthread_create(&thread, NULL, own, NULL));
    death_go(0);
    for (;;)
        pause();
}

/* The kernel that has taken over the role of a thread's birth has a part of its process, so that this ends with it, and
 * whoever waits for its locks finds that. */
void death_test_moved(void)
{
    const struct timespec moment = {1, 0};
    int stops, dying;
    pid_t owner;
    unsigned tid, value;

    if (!death_successor(&stops, &dying)) {
        tap_skip("it takes a node of two kernels without kernel 0");
        return;
    }
    death_begin();
    words_moved = tap_share(PAGE);
    owner = FORK();
    if (owner == 0)
        own_elsewhere(stops);
    UNTIL(words_moved[2] == 1, "the locks to be taken");
    tid = words_moved[0];
    value = words_moved[1];
    UNTIL(tap_sleeps(owner, owner), "the thread that has visited the kernel to be back");
    MUST(kettle_stop(stops));
    CHECK_ERROR(syscall(SYS_futex, &words_moved[0], FUTEX_TRYLOCK_PI, 0, NULL, NULL, 0), EAGAIN);
    CHECK(words_moved[0] == tid, "the word is %x, and not of %x", words_moved[0], tid);
    death_kill(dying, KETTLE_KILL_NOW);
    CHECK_DIES(owner, SIGKILL);
    MUST(syscall(SYS_futex, &words_moved[0], FUTEX_TRYLOCK_PI, 0, NULL, NULL, 0));
    CHECK_ERROR(syscall(SYS_futex, &words_moved[1], 0, value, &moment, NULL, 0), EAGAIN);
    CHECK(words_moved[1] == (WAITERS | OWNER_DIED), "the word is %x", words_moved[1]);
    MUST(munmap((void *)words_moved, PAGE));
    death_audit();
    death_start_again(dying);
    MUST(kettle_start(stops));
}

/* --- robust locks of a process at home there --- */

#define ROBUST_WAITERS 3
#define OF_THREADS 0x80000003u /* of a kernel that lives: a count of a lock of readers, for instance */

/* In a file that both map. */
struct home_locks {
    struct locks locks;
    atomic_uint holder, word;
    atomic_int ready;
};

static struct home_locks *map_home_locks(int fd)
{
    struct home_locks *shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    return shared != MAP_FAILED ? shared : NULL;
}

/* Descriptor 3 is the file: this process takes its first two locks. */
int death_home_robust(int argc, char **argv)
{
    struct home_locks *shared = map_home_locks(3);

    (void)argc;
    (void)argv;
    if (shared == NULL)
        return 90;
    for (int i = 0; i < LOCKS; i += 2)
        MUST(-pthread_mutex_lock(&shared->locks.is[i]));
    shared->holder = (unsigned)syscall(SYS_gettid);
    shared->ready = 1;
    for (;;)
        pause();
}

static _Noreturn void wait_for_robust(struct home_locks *shared, int kernel)
{
    int result;

    death_go(kernel);
    result = pthread_mutex_lock(&shared->locks.is[0]);
    atomic_fetch_add(&death_board->woken, result == EOWNERDEAD);
    if (result == EOWNERDEAD)
        result = pthread_mutex_consistent(&shared->locks.is[0]);
    _exit(result == 0 && pthread_mutex_unlock(&shared->locks.is[0]) == 0 ? 7 : 8);
}

/* A wait for a little while: the word is of nobody who has died. */
static void check_waits(atomic_uint *word, unsigned value, int operation)
{
    const struct timespec moment = {0, 2000000};

    *word = value;
    CHECK_ERROR(syscall(SYS_futex, word, operation, value, &moment, NULL, 0), ETIMEDOUT);
    CHECK(*word == value, "%x has become %x", value, *word);
}

/* Who may not write the word waits for it all the same. */
static void check_reader(int fd, unsigned value)
{
    const struct timespec moment = {0, 2000000};
    struct home_locks *writable = map_home_locks(fd);
    const struct home_locks *readable = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

    REQUIRE(writable != NULL && readable != MAP_FAILED, "no memory: %s", tap_error(errno));
    writable->word = value;
    CHECK_ERROR(syscall(SYS_futex, &readable->word, 0, value, &moment, NULL, 0), ETIMEDOUT);
    CHECK(writable->word == value, "%x has become %x", value, writable->word);
    MUST(munmap(writable, PAGE));
    MUST(munmap((void *)(uintptr_t)readable, PAGE));
}

/* Nobody knows the lists of its threads any more: who waits for a word that names one of them finds it. */
void death_test_robust_home(void)
{
    int dying = death_victim(0), fds[] = {0, 1, 2, -1, KETTLE_FDS_END};
    char *argv[] = {(char *)(uintptr_t)tap_self(), "@robust", NULL};
    struct home_locks *shared;
    pid_t child, waiters[ROBUST_WAITERS];
    static atomic_uint own;
    unsigned lost;

    death_begin();
    fds[3] = (int)MUST(open(SHARED, O_RDWR | O_CREAT | O_TRUNC, 0600));
    MUST(ftruncate(fds[3], PAGE));
    shared = map_home_locks(fds[3]);
    REQUIRE(shared != NULL, "no memory: %s", tap_error(errno));
    make_locks(&shared->locks);
    child = kettle_spawn(dying, argv[0], argv, (char *[]){NULL}, fds);
    CHECK(child > 0, "spawn on kernel %d: %s", dying, tap_error(errno));
    UNTIL(shared->ready == 1, "the locks to be taken");
    for (int i = 0; i < ROBUST_WAITERS; i++) {
        waiters[i] = FORK();
        if (waiters[i] == 0)
            wait_for_robust(shared, i == 0 ? death_neighbour(dying) : 0);
        UNTIL(tap_sleeps(waiters[i], waiters[i]), "a waiter");
    }
    lost = shared->holder | WAITERS;
    check_waits(&shared->word, lost, 0); /* its owner lives */
    death_kill(dying, KETTLE_KILL_NOW);
    CHECK_DIES(child, SIGKILL);
    for (int i = 0; i < ROBUST_WAITERS; i++)
        CHECK_EXITS(waiters[i], 7);
    CHECK(death_board->woken == 1, "%d threads were told that the owner has died", death_board->woken);
    CHECK(pthread_mutex_lock(&shared->locks.is[2]) == EOWNERDEAD, "the lock for which nobody has waited");
    shared->word = lost;
    CHECK_ERROR(syscall(SYS_futex, &shared->word, 0, lost, NULL, NULL, 0), EAGAIN);
    CHECK(shared->word == (WAITERS | OWNER_DIED), "the word is %x", shared->word);
    check_waits(&own, lost, 0);            /* of this process */
    check_waits(&shared->word, lost, 128); /* FUTEX_PRIVATE_FLAG */
    check_waits(&shared->word, OF_THREADS, 0);
    check_waits(&shared->word, lost & ~WAITERS, 0);
    check_reader(fds[3], lost);
    MUST(munmap(shared, PAGE));
    close(fds[3]);
    unlink(SHARED);
    death_audit();
    death_start_again(dying);
}
