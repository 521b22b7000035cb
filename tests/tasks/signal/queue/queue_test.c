/* Queues of pending signals against an array, and without memory.
 * sources: tasks/signal/queue/queue.c */
#include "kernel/abi/errno.h"
#include "tasks/signal/queue/queue.h"
#include "tests/stand_in/heap.h"
#include "tests/test.h"

#include "tests/stand_in/quota.h"

static struct signal_queue queue;

static int add(uint32_t signal, uint64_t value)
{
    struct signal_info info = {.signal = signal, .code = SI_QUEUE, .value = value};

    return signal_queue_add(&queue, &info, 7, UINT64_MAX);
}

/* What is taken of SET: signal << 32 | value, or 0. */
static uint64_t take(uint64_t set)
{
    struct signal_info info;

    return signal_queue_take(&queue, set, &info) ? (uint64_t)info.signal << 32 | info.value : 0;
}

static void begin(void)
{
    signal_queue_remove(&queue, queue.infos.next != NULL ? ~0ull : 0);
    signal_queue_init(&queue);
    heap_left = -1;
}

TEST(standard_once, "a standard signal that is pending stays as it is; a real-time one is queued each time")
{
    signal_queue_init(&queue);
    CHECK_EQ(add(SIGUSR1, 1), 0);
    CHECK_EQ(add(SIGUSR1, 2), 0);
    CHECK_EQ(add(SIGNAL_REALTIME, 3), 0);
    CHECK_EQ(add(SIGNAL_REALTIME, 4), 0);
    CHECK_EQ(queue.count, 3);
    CHECK_EQ(take(~0ull), (uint64_t)SIGUSR1 << 32 | 1);
    CHECK_EQ(take(~0ull), (uint64_t)SIGNAL_REALTIME << 32 | 3);
    CHECK_EQ(queue.pending, SIGNAL_BIT(SIGNAL_REALTIME));
    CHECK_EQ(take(~0ull), (uint64_t)SIGNAL_REALTIME << 32 | 4);
    CHECK_EQ(queue.pending, 0);
    CHECK_EQ(take(~0ull), 0);
    CHECK_EQ(heap_objects, 0);
}

TEST(order, "those of faults come first, then the lowest; only those of the set")
{
    signal_queue_init(&queue);
    CHECK_EQ(add(40, 1), 0);
    CHECK_EQ(add(SIGHUP, 2), 0);
    CHECK_EQ(add(SIGSEGV, 3), 0);
    CHECK_EQ(add(64, 4), 0);
    CHECK_EQ(take(SIGNAL_BIT(SIGINT)), 0);
    CHECK_EQ(take(SIGNAL_BIT(64) | SIGNAL_BIT(40)), 40ull << 32 | 1);
    CHECK_EQ(take(~0ull), (uint64_t)SIGSEGV << 32 | 3);
    CHECK_EQ(take(~0ull), (uint64_t)SIGHUP << 32 | 2);
    CHECK_EQ(take(~0ull), 64ull << 32 | 4);
    CHECK_EQ(heap_objects, 0);
}

TEST(full,
     "where a queue is full, a limit reached or the heap empty, real-time signals are refused, others lose their info")
{
    struct signal_info out[2];

    begin();
    for (uint32_t i = 0; i < SIGNAL_QUEUE_MAX; i++)
        CHECK_EQ(add(50, i), 0);
    CHECK_EQ(add(50, 0), -EAGAIN);
    CHECK_EQ(add(51, 0), -EAGAIN);
    CHECK_EQ(signal_queue_add(&queue, &(struct signal_info){.signal = 52, .code = SI_USER}, 7, UINT64_MAX), 0);
    CHECK_EQ(queue.pending, SIGNAL_BIT(50) | SIGNAL_BIT(52));
    CHECK_EQ(take(SIGNAL_BIT(52)), 52ull << 32); /* kill(2)'s signals are not refused */
    CHECK_EQ(add(SIGHUP, 9), 0);
    CHECK_EQ(queue.pending, SIGNAL_BIT(50) | SIGNAL_BIT(SIGHUP));
    CHECK_EQ(take(~0ull), (uint64_t)SIGHUP << 32);
    CHECK_EQ(take(~0ull), 50ull << 32);
    begin();
    heap_left = 0;
    CHECK_EQ(add(SIGHUP, 9), 0);
    CHECK_EQ(add(SIGUSR2, 9), 0);
    CHECK_EQ(signal_queue_list(&queue, out, 2), 2);
    CHECK(out[0].signal == SIGHUP && out[1].signal == SIGUSR2);
    CHECK_EQ(signal_queue_add(&queue, &(struct signal_info){.signal = SIGSEGV, .code = 1}, 7, UINT64_MAX), -EAGAIN);
    CHECK_EQ(signal_queue_add(&queue, &(struct signal_info){.signal = SIGSEGV, .code = SI_KERNEL}, 7, UINT64_MAX),
             -EAGAIN);
    CHECK_EQ(signal_queue_add(&queue, &(struct signal_info){.signal = SIGALRM, .code = SI_TIMER}, 7, UINT64_MAX),
             -EAGAIN);
    CHECK_EQ(queue.pending, SIGNAL_BIT(SIGHUP) | SIGNAL_BIT(SIGUSR2));
    signal_queue_remove(&queue, SIGNAL_BIT(SIGHUP));
    CHECK_EQ(take(~0ull), (uint64_t)SIGUSR2 << 32);
    CHECK_EQ(take(~0ull), 0);
    begin();
    quota_most = 2;
    CHECK_EQ(add(50, 1), 0);
    CHECK_EQ(add(50, 2), 0);
    CHECK_EQ(add(50, 3), -EAGAIN);
    CHECK_EQ(take(~0ull), 50ull << 32 | 1);
    CHECK_EQ(add(50, 4), 0);
    begin();
    quota_most = UINT64_MAX;
    CHECK_EQ(heap_objects, 0);
    CHECK_EQ(quota_counts[QUOTA_SIGNALS], 0);
}

TEST(listed, "a list has all infos in order, as far as there is room, and says how many there are")
{
    struct signal_info out[3];

    signal_queue_init(&queue);
    for (uint32_t i = 0; i < 5; i++)
        CHECK_EQ(add(60 - i, i), 0);
    CHECK_EQ(signal_queue_list(&queue, out, 3), 5);
    for (uint32_t i = 0; i < 3; i++)
        CHECK_EQ(out[i].value, i);
    begin();
}

TEST(against_an_array, "any order of additions, takings and removals is what an array says")
{
    struct {
        uint32_t signal;
        uint64_t value;
    } model[SIGNAL_QUEUE_MAX];
    uint32_t count = 0;
    uint64_t seed = 1;

    signal_queue_init(&queue);
    for (uint32_t step = 1; step < 60000; step++) {
        uint32_t signal = 1 + (uint32_t)test_below(&seed, SIGNALS);
        uint64_t set = test_random(&seed) & test_random(&seed);
        uint64_t pending = 0, expected = 0;
        uint32_t best = SIGNALS + 1, at = count;

        if (test_below(&seed, 2) == 0) {
            for (uint32_t i = 0; i < count; i++)
                at = model[i].signal == signal && signal < SIGNAL_REALTIME ? i : at;
            CHECK_EQ(add(signal, step), 0);
            if (at == count) {
                model[count].signal = signal;
                model[count++].value = step;
            }
        } else if (test_below(&seed, 8) != 0) {
            uint64_t faults = SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGBUS) | SIGNAL_BIT(SIGILL) | SIGNAL_BIT(SIGTRAP) |
                              SIGNAL_BIT(SIGFPE) | SIGNAL_BIT(SIGSYS);

            for (uint32_t i = 0; i < count; i++) {
                uint32_t rank = model[i].signal + ((SIGNAL_BIT(model[i].signal) & faults) != 0 ? 0 : 100);
                uint32_t best_rank = best > SIGNALS ? UINT32_MAX : best + ((SIGNAL_BIT(best) & faults) != 0 ? 0 : 100);

                if ((SIGNAL_BIT(model[i].signal) & set) != 0 && rank < best_rank) {
                    best = model[i].signal;
                    at = i;
                }
            }
            if (at < count)
                expected = (uint64_t)best << 32 | model[at].value;
            CHECK_EQ(take(set), expected);
            if (at < count)
                memmove(&model[at], &model[at + 1], (--count - at) * sizeof(model[0]));
        } else {
            uint32_t kept = 0;

            set &= test_random(&seed);
            signal_queue_remove(&queue, set);
            for (uint32_t i = 0; i < count; i++) {
                if ((SIGNAL_BIT(model[i].signal) & set) == 0)
                    model[kept++] = model[i];
            }
            count = kept;
        }
        for (uint32_t i = 0; i < count; i++)
            pending |= SIGNAL_BIT(model[i].signal);
        CHECK_EQ(queue.pending, pending);
        CHECK_EQ(queue.count, count);
        CHECK_EQ(heap_objects, count);
        if (count > SIGNAL_QUEUE_MAX - 2) {
            begin();
            count = 0;
        }
    }
    begin();
    CHECK_EQ(heap_objects, 0);
}
