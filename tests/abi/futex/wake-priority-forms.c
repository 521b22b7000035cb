/* Bit sets, vectors of words and FUTEX_WAKE_OP wake by priority: that with which a thread began to wait. */
#include "abi.h"

#define WAITERS 6
static const int priorities[WAITERS] = {0, 20, 10, 30, 0, 30};
static int word, other;
static atomic_int order, got[WAITERS], tids[WAITERS];
static long (*wait_for_it)(int);

struct one {
    uint64_t value, address;
    uint32_t flags, reserved;
};
static long of_bits(int i)
{
    return syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, 1 << (i % 2));
}
static long of_words(int i)
{
    struct one words[2] = {{0, (uintptr_t)(i % 2 ? &word : &other), 2 | 128, 0},
                           {0, (uintptr_t)(i % 2 ? &other : &word), 2 | 128, 0}};

    return syscall(449, words, 2L, 0L, NULL, 0L);
}
static long of_word(int i)
{
    (void)i;
    return syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL);
}
static void *waits(void *argument)
{
    int i = (int)(long)argument;
    struct sched_param parameters = {.sched_priority = priorities[i]};

    go(i);
    MUST(syscall(SYS_sched_setscheduler, 0, priorities[i] > 0 ? SCHED_FIFO : SCHED_OTHER, &parameters));
    atomic_store(&tids[i], gettid());
    while (wait_for_it(i) == -1 && errno == EINTR) {
    }
    atomic_store(&got[atomic_load(&order)], i); /* one runs at a time */
    atomic_fetch_add(&order, 1);
    return NULL;
}
static void all_wait(pthread_t threads[WAITERS], long (*function)(int))
{
    wait_for_it = function;
    atomic_store(&order, 0);
    for (long i = 0; i < WAITERS; i++) {
        atomic_store(&tids[i], 0);
        threads[i] = start(waits, (void *)i);
        while (atomic_load(&tids[i]) == 0)
            sched_yield();
        for (int j = 0; j < 4; j++) {
            sleep_ms(10);
            until_asleep(getpid(), atomic_load(&tids[i]));
        }
    }
}
static void until_ordered(int count)
{
    while (atomic_load(&order) < count)
        sched_yield();
}
static void tell(const char *what, pthread_t threads[WAITERS])
{
    for (int i = 0; i < WAITERS; i++)
        pthread_join(threads[i], NULL);
    printf("%s:", what);
    for (int i = 0; i < WAITERS; i++)
        printf(" %d", atomic_load(&got[i]));
    printf("\n");
}
int main(void)
{
    struct sched_param lower = {.sched_priority = 1}, higher = {.sched_priority = 50};
    pthread_t threads[WAITERS];

    all_wait(threads, of_bits);
    for (int i = 0; i < WAITERS; i++) {
        MUST(syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, 1, NULL, NULL, i < WAITERS / 2 ? 2 : 1));
        until_ordered(i + 1);
    }
    tell("bits", threads);
    all_wait(threads, of_words);
    for (int i = 0; i < WAITERS; i++) {
        MUST(syscall(SYS_futex, i % 2 ? &word : &other, FUTEX_WAKE_PRIVATE, 1));
        until_ordered(i + 1);
    }
    tell("vectors", threads);
    all_wait(threads, of_word);
    for (int i = 0; i < WAITERS; i++) {
        MUST(syscall(SYS_futex, &other, FUTEX_WAKE_OP, 0, 1, &word, FUTEX_OP(FUTEX_OP_SET, 0, FUTEX_OP_CMP_EQ, 0)));
        until_ordered(i + 1);
    }
    tell("WAKE_OP", threads);
    all_wait(threads, of_word);
    MUST(syscall(SYS_sched_setscheduler, tids[3], SCHED_FIFO, &lower));
    MUST(syscall(SYS_sched_setscheduler, tids[0], SCHED_FIFO, &higher));
    for (int i = 0; i < WAITERS; i++) {
        MUST(syscall(SYS_futex, &word, FUTEX_WAKE, 1));
        until_ordered(i + 1);
    }
    tell("changed while they wait", threads);
    return 0;
}
