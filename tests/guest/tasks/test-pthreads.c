/* test-pthreads: what programs do with POSIX threads, on all CPUs: each thread goes to a CPU of its own choice, which
 * on Kettle may be another kernel's. A Linux program. With an argument: as many times the work. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/guest/harness/tap.h"
#include "userland/x86.h"

#define MANY 1000
#define CREW 8
#define STACK 32768 /* bytes */
#define LIMIT 120   /* seconds: a failure */

static cpu_set_t allowed;
static int cpu_count;
static long times = 1;

/* The calling thread goes on on one CPU: the NUMBERth of those that the program may use, in turn. */
static void go(int number)
{
    cpu_set_t one;
    int cpu = -1;

    for (int left = number % cpu_count; left >= 0; left--) {
        do {
            cpu++;
        } while (!CPU_ISSET(cpu, &allowed));
    }
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof(one), &one);
}

static struct timespec later(int seconds)
{
    struct timespec time;

    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_sec += seconds;
    return time;
}

static bool start(pthread_t *thread, void *(*run)(void *), long argument)
{
    pthread_attr_t attributes;
    int error;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    error = pthread_create(thread, &attributes, run, (void *)argument);
    pthread_attr_destroy(&attributes);
    return CHECK(error == 0, "thread %ld: %s", argument, strerror(error));
}

/* RUN in CREW threads, each with its number; the sum of what they return. */
static long crew(void *(*run)(void *))
{
    pthread_t threads[CREW];
    int count = 0;
    long sum = 0;
    void *value;

    while (count < CREW && start(&threads[count], run, count))
        count++;
    for (int i = 0; i < count; i++) {
        CHECK(pthread_join(threads[i], &value) == 0, "join of %d", i);
        sum += (long)value;
    }
    return sum;
}

/* --- many --- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int arrived;
static bool released;
static _Thread_local long own;

static void *one_of_many(void *number)
{
    own = (long)number;
    go((int)(long)number);
    pthread_mutex_lock(&lock);
    arrived++;
    pthread_cond_broadcast(&changed);
    while (!released)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return (void *)(own * 3);
}

static void test_many(void)
{
    static pthread_t threads[MANY];
    int count = 0;
    long sum = 0, wanted = 0;
    void *value;

    while (count < MANY && start(&threads[count], one_of_many, count))
        count++;
    pthread_mutex_lock(&lock);
    while (arrived < count)
        pthread_cond_wait(&changed, &lock);
    released = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < count; i++) {
        CHECK(pthread_join(threads[i], &value) == 0, "join of %d", i);
        sum += (long)value;
        wanted += 3l * i;
    }
    CHECK(sum == wanted, "%d threads: %ld, not %ld", count, sum, wanted);
}

static void *nothing(void *number)
{
    return (void *)((long)number + 1);
}

/* Makes threads and waits for them, some in the order they came, some the other way round. */
static void *storm(void *number)
{
    long ended = 0;

    for (int round = 0; round < 12 * times; round++) {
        pthread_t threads[5];
        int count = 0;

        go((int)(long)number + round);
        while (count < 5 && pthread_create(&threads[count], NULL, nothing, (void *)(long)count) == 0)
            count++;
        for (int i = 0; i < count; i++) {
            int which = round % 2 == 0 ? i : count - 1 - i;
            void *value = NULL;

            if (pthread_join(threads[which], &value) == 0 && (long)value == which + 1)
                ended++;
        }
    }
    return (void *)ended;
}

static void test_storm(void)
{
    long ended = crew(storm);

    CHECK(ended == CREW * 12l * 5 * times, "%ld ended", ended);
}

/* --- condition variables, barriers, rwlocks, semaphores --- */

#define ROOM 4
#define ITEMS (150 * times)

static long ring[ROOM];
static int ring_first, ring_count;
static pthread_cond_t has_item = PTHREAD_COND_INITIALIZER, has_room = PTHREAD_COND_INITIALIZER;

static void *exchange(void *argument)
{
    int number = (int)(long)argument;
    long sum = 0;

    for (long i = 0; i < ITEMS; i++) {
        if (i % 50 == 0)
            go(number + (int)i / 50);
        pthread_mutex_lock(&lock);
        if (number % 2 == 0) { /* gives */
            while (ring_count == ROOM)
                pthread_cond_wait(&has_room, &lock);
            ring[(ring_first + ring_count++) % ROOM] = i + 1;
            sum -= i + 1;
            pthread_cond_signal(&has_item);
        } else {
            while (ring_count == 0)
                pthread_cond_wait(&has_item, &lock);
            sum += ring[ring_first];
            ring_first = (ring_first + 1) % ROOM;
            ring_count--;
            pthread_cond_signal(&has_room);
        }
        pthread_mutex_unlock(&lock);
    }
    return (void *)sum;
}

static void test_condition(void)
{
    long sum = crew(exchange);

    CHECK(sum == 0 && ring_count == 0, "%ld too many, %d left", sum, ring_count);
}

static pthread_barrier_t barrier;
static atomic_long turns[CREW];

static void *rounds(void *argument)
{
    int number = (int)(long)argument;
    long serial = 0, wrong = 0;

    for (long round = 1; round <= 60 * times; round++) {
        int result;

        if (round % 20 == 0)
            go(number + (int)round / 20);
        atomic_store(&turns[number], round);
        result = pthread_barrier_wait(&barrier);
        if (result == PTHREAD_BARRIER_SERIAL_THREAD)
            serial++;
        else if (result != 0)
            wrong++;
        for (int i = 0; i < CREW; i++) {
            long turn = atomic_load(&turns[i]);

            if (turn != round)
                wrong++;
        }
        pthread_barrier_wait(&barrier); /* nobody begins the next round before all have looked */
    }
    return (void *)(serial + 1000000 * wrong);
}

static void test_barrier(void)
{
    long sum;

    pthread_barrier_init(&barrier, NULL, CREW);
    sum = crew(rounds);
    pthread_barrier_destroy(&barrier);
    CHECK(sum == 60l * times, "%ld rounds had a serial thread, %ld wrong", sum % 1000000, sum / 1000000);
}

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static long twins[2];
static atomic_int writers, readers;

static void *read_write(void *argument)
{
    int number = (int)(long)argument;
    long wrong = 0;

    for (int i = 0; i < 100 * times; i++) {
        if (i % 25 == 0)
            go(number + i / 25);
        if ((i + number) % 4 == 0) {
            pthread_rwlock_wrlock(&rwlock);
            wrong += atomic_fetch_add(&writers, 1) != 0 || atomic_load(&readers) != 0;
            twins[0]++;
            twins[1]++;
            atomic_fetch_sub(&writers, 1);
        } else {
            pthread_rwlock_rdlock(&rwlock);
            atomic_fetch_add(&readers, 1);
            wrong += atomic_load(&writers) != 0 || twins[0] != twins[1];
            atomic_fetch_sub(&readers, 1);
        }
        pthread_rwlock_unlock(&rwlock);
    }
    return (void *)wrong;
}

static void test_rwlock(void)
{
    long wrong = crew(read_write);

    CHECK(wrong == 0 && twins[0] == CREW * 25l * times && twins[0] == twins[1], "%ld wrong, %ld and %ld", wrong,
          twins[0], twins[1]);
}

static sem_t turn[CREW];
static long passed;

/* A token goes round: each gives it to the next one. */
static void *pass(void *argument)
{
    int number = (int)(long)argument;

    for (int i = 0; i < 60 * times; i++) {
        if (i % 20 == 0)
            go(number + i / 20);
        while (sem_wait(&turn[number]) != 0) {
        }
        passed++;
        sem_post(&turn[(number + 1) % CREW]);
    }
    return NULL;
}

static void test_semaphore(void)
{
    for (int i = 0; i < CREW; i++)
        sem_init(&turn[i], 0, i == 0 ? 1 : 0);
    passed = 0;
    crew(pass);
    CHECK(passed == CREW * 60l * times, "passed %ld times", passed);
}

/* --- what belongs to a thread --- */

static pthread_key_t key;
static atomic_long destroyed;
static _Thread_local long table[512];

static void destroy(void *value)
{
    atomic_fetch_add(&destroyed, (long)value);
}

static void *remember(void *argument)
{
    int number = (int)(long)argument;
    long wrong = 0;

    pthread_setspecific(key, (void *)(long)(number + 1));
    for (int i = 0; i < 512; i++)
        table[i] = number * 1000 + i;
    for (int move = 0; move < 6; move++) {
        go(number + move);
        for (int i = 0; i < 512; i++)
            wrong += table[i] != number * 1000 + i;
        wrong += pthread_getspecific(key) != (void *)(long)(number + 1);
        errno = number;
        sched_yield();
        wrong += errno != number;
    }
    return (void *)wrong;
}

static void test_own(void)
{
    long wrong;

    atomic_store(&destroyed, 0);
    CHECK(pthread_key_create(&key, destroy) == 0, "key");
    wrong = crew(remember);
    CHECK(wrong == 0 && atomic_load(&destroyed) == CREW * (CREW + 1) / 2, "%ld wrong, destroyed %ld", wrong,
          atomic_load(&destroyed));
    pthread_key_delete(key);
}

/* --- cancellation --- */

static int silent[2]; /* a pipe that nobody writes to */
static sem_t never, ready;
static atomic_int cleaned;

static void clean(void *unlocks)
{
    if (unlocks != NULL)
        pthread_mutex_unlock(unlocks);
    atomic_fetch_add(&cleaned, 1);
}

static void *wait_for_cancel(void *argument)
{
    int number = (int)(long)argument;
    bool locks = number % 4 == 0;
    char byte;

    go(number);
    if (locks)
        pthread_mutex_lock(&lock);
    pthread_cleanup_push(clean, locks ? &lock : NULL);
    sem_post(&ready);
    for (;;) {
        if (locks)
            pthread_cond_wait(&changed, &lock);
        else if (number % 4 == 1)
            sem_wait(&never);
        else if (number % 4 == 2)
            (void)!read(silent[0], &byte, 1);
        else
            pause();
    }
    pthread_cleanup_pop(0);
    return NULL;
}

static void test_cancel(void)
{
    int count = 0;

    sem_init(&never, 0, 0);
    sem_init(&ready, 0, 0);
    atomic_store(&cleaned, 0);
    if (!CHECK(pipe(silent) == 0, "pipe: %s", strerror(errno)))
        return;
    for (int round = 0; round < 3 * times; round++) {
        pthread_t threads[CREW];
        void *value;

        for (int i = 0; i < CREW && start(&threads[i], wait_for_cancel, i + round); i++)
            count++;
        for (int i = 0; i < CREW; i++)
            sem_wait(&ready);
        for (int i = 0; i < CREW; i++) {
            go(i + round + 1);
            CHECK(pthread_cancel(threads[i]) == 0, "cancel %d", i);
        }
        for (int i = 0; i < CREW; i++)
            CHECK(pthread_join(threads[i], &value) == 0 && value == PTHREAD_CANCELED, "thread %d", i);
    }
    CHECK(atomic_load(&cleaned) == count && pthread_mutex_trylock(&lock) == 0, "%d of %d cleaned up",
          atomic_load(&cleaned), count);
    pthread_mutex_unlock(&lock);
    close(silent[0]);
    close(silent[1]);
}

/* --- fork --- */

static atomic_bool over;

static void *busy(void *argument)
{
    long turns_done = 0;

    go((int)(long)argument);
    while (!atomic_load(&over)) {
        pthread_mutex_lock(&lock);
        twins[0]++;
        twins[1]++;
        pthread_mutex_unlock(&lock);
        free(malloc(100));
        x86_pause();
        turns_done++;
    }
    return (void *)turns_done;
}

/* What a child of a program with threads finds: one thread, memory of one moment, and it can make threads of its own.
 */
static int child(int number)
{
    pthread_t thread;
    void *value = NULL;

    go(number + 3);
    if (twins[0] != twins[1])
        return 2;
    if (pthread_create(&thread, NULL, nothing, (void *)4l) != 0 || pthread_join(thread, &value) != 0)
        return 3;
    return (long)value == 5 ? 0 : 4;
}

static void test_fork(void)
{
    pthread_t threads[4];
    int count = 0;

    atomic_store(&over, false);
    while (count < 4 && start(&threads[count], busy, count + 1))
        count++;
    for (int i = 0; i < 6 * times; i++) {
        int status = -1;
        pid_t pid;

        go(i);
        pthread_mutex_lock(&lock); /* so that nobody has it in the child */
        pid = fork();
        if (pid == 0)
            _exit(child(i));
        pthread_mutex_unlock(&lock);
        CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "fork %d: status %x", i, (unsigned)status);
    }
    atomic_store(&over, true);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    CHECK(twins[0] == twins[1], "%ld and %ld", twins[0], twins[1]);
}

/* --- robust mutexes --- */

struct shared {
    pthread_mutex_t mutex;
    atomic_int locked;
    long first, second; /* equal, unless the owner was killed between */
};

static _Noreturn void die_with_it(struct shared *shared, int number)
{
    go(number);
    if (pthread_mutex_lock(&shared->mutex) != 0)
        _exit(1);
    shared->first++;
    atomic_store(&shared->locked, 1);
    for (;;)
        pause();
}

static void test_robust(void)
{
    struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t attributes;

    if (!CHECK(shared != MAP_FAILED, "memory: %s", strerror(errno)))
        return;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&shared->mutex, &attributes);
    for (int round = 0; round < 10 * times; round++) {
        struct timespec limit = later(LIMIT);
        pid_t killer, owner = fork();
        int status, error;

        if (owner == 0)
            die_with_it(shared, round + 1);
        go(round);
        while (atomic_load(&shared->locked) == 0)
            sched_yield();
        killer = fork();
        if (killer == 0) {
            go(round + 2);
            for (int i = 0; i < round % 4; i++)
                sched_yield(); /* before the lock is waited for, and after */
            _exit(kill(owner, SIGKILL) == 0 ? 0 : 1);
        }
        error = pthread_mutex_timedlock(&shared->mutex, &limit);
        CHECK(error == EOWNERDEAD, "round %d: %s", round, strerror(error));
        CHECK(shared->first == shared->second + 1, "%ld and %ld", shared->first, shared->second);
        shared->second++;
        atomic_store(&shared->locked, 0);
        CHECK(error != EOWNERDEAD || pthread_mutex_consistent(&shared->mutex) == 0, "round %d", round);
        CHECK(pthread_mutex_unlock(&shared->mutex) == 0, "round %d", round);
        CHECK(waitpid(owner, &status, 0) == owner && WIFSIGNALED(status), "status %x", (unsigned)status);
        CHECK(waitpid(killer, &status, 0) == killer && status == 0, "status %x", (unsigned)status);
    }
    munmap(shared, sizeof(*shared));
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"many", "a thousand threads live at once, each on the CPU of its affinity, and end", test_many},
        {"storm", "threads are made and waited for on all CPUs at once", test_storm},
        {"condition", "condition variables lose no wake-up", test_condition},
        {"barrier", "a barrier releases no thread early, and has one serial thread each time", test_barrier},
        {"rwlock", "a read-write lock has many readers or one writer", test_rwlock},
        {"semaphore", "a semaphore passes a token round", test_semaphore},
        {"own", "what belongs to a thread moves with it", test_own},
        {"cancel", "a thread that waits on another CPU is cancelled, and runs its cleanup handlers", test_cancel},
        {"fork", "a program with threads can fork", test_fork},
        {"robust", "a waiter gets a robust mutex when its owner is killed on any kernel", test_robust},
    };

    tap_take_number(&argc, &argv, &times);
    sched_getaffinity(0, sizeof(allowed), &allowed);
    cpu_count = CPU_COUNT(&allowed);
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
