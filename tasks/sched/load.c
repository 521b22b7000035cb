/* The load board. See the header; msg/PROTOCOL.md says where it is. */
#include "tasks/sched/load.h"

#include "kernel/arch/x86_64/base/instructions.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/instance/instance.h"
#include "mm/frame/frame.h"
#include "msg/channel.h"
#include "tasks/sched/internal.h"

#define FREE_INTERVAL 20000000ull /* ns between two counts of the free frames */
#define COUNT_MAX 0xffffull       /* bound on the number of threads whose weight a line may claim */
#define WEIGHT_MAX (COUNT_MAX * FAIR_WEIGHT_REAL)

enum { BOARD_LOAD = MSG_BOARD_LOAD, BOARD_FREE, BOARD_TIME };

static volatile uint64_t total;   /* [a] load of this kernel */
static volatile uint64_t counted; /* [a] ns: when the free frames were counted */

/* LOAD is that of QUEUE, and another one is published of it. */
static void publish(struct cpu_queue *queue, uint64_t load)
{
    uint64_t before = __atomic_exchange_n(&queue->published, load, __ATOMIC_SEQ_CST); /* so TOTAL is the sum of all */
    uint64_t now = clock_now(), sum;
    volatile uint64_t *board = msg_board_own();

    __atomic_fetch_add(&total, load - before, __ATOMIC_RELAXED);
    if (now - counted > FREE_INTERVAL) {
        struct frame_stats frames;

        counted = now;
        frame_stats(&frames);
        board[BOARD_FREE] = frames.free;
    }
    do { /* of CPUs that publish at once, the last one leaves the sum of all */
        sum = __atomic_load_n(&total, __ATOMIC_RELAXED);
        board[BOARD_LOAD] = sum;
        memory_fence();
    } while (__atomic_load_n(&total, __ATOMIC_RELAXED) != sum);
    __atomic_store_n(&board[BOARD_TIME], now, __ATOMIC_RELEASE);
}

/* Another CPU may be changing the load, and have looked whether it is published before what was here is published. Then
 * this one looks again behind the exchange, a full barrier. The other one needs one, too, between its change and its
 * look: a load changes under the queue's lock, and before its CPU publishes it has passed another locked instruction,
 * that of the lock taken again or of place_idle (sched_idle). */
void load_publish(struct cpu_queue *queue)
{
    uint64_t load;

    while ((load = __atomic_load_n(&queue->run.load, __ATOMIC_RELAXED)) !=
           __atomic_load_n(&queue->published, __ATOMIC_RELAXED))
        publish(queue, load);
}

void load_read(uint32_t kernel, struct load_view *view)
{
    const volatile uint64_t *board = msg_board_of(kernel);
    uint64_t weight;

    *view = (struct load_view){0};
    if (board == NULL)
        return;
    view->time = __atomic_load_n(&board[BOARD_TIME], __ATOMIC_ACQUIRE);
    view->load = board[BOARD_LOAD];
    view->free = board[BOARD_FREE];
    weight = load_weight(view->load);
    if (weight > WEIGHT_MAX)
        view->load = WEIGHT_MAX << LOAD_SHIFT | load_count(view->load);
    if (view->free > instance.plan.kernels[kernel].memory / PAGE_SIZE)
        view->free = instance.plan.kernels[kernel].memory / PAGE_SIZE;
}
