/* The arithmetic of scheduling entities. See the header. */
#include "tasks/sched/fair/fair.h"

/* Linux's table (sched(7), 1.25 for each level, nice 0 is 1024), which programs were tuned to. */
static const uint32_t weights[40] = {88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
                                     9548,  7620,  6100,  4904,  3906,  3121,  2501,  1991,  1586,  1277,
                                     1024,  820,   655,   526,   423,   335,   272,   215,   172,   137,
                                     110,   87,    70,    56,    45,    36,    29,    23,    18,    15};

uint32_t fair_weight(int nice)
{
    if (nice < FAIR_NICE_MIN)
        nice = FAIR_NICE_MIN;
    if (nice > FAIR_NICE_MAX)
        nice = FAIR_NICE_MAX;
    return weights[nice - FAIR_NICE_MIN];
}

void run_queue_init(struct run_queue *queue)
{
    *queue = (struct run_queue){.floor = FAIR_BASE + 2 * FAIR_CREDIT};
}

void share_set_kernel(struct sched_entity *share)
{
    share->position = (uint64_t)RANK_KERNEL << FAIR_RANK_SHIFT;
    share->rate = 0;
    share->slice = UINT64_MAX;
    share->load = 0;
}

void share_set(struct sched_entity *share, uint32_t policy, int nice)
{
    uint32_t kind = policy & POLICY_MASK;
    uint64_t priority = policy >> POLICY_PRIORITY_SHIFT;
    uint32_t weight;

    if (kind == POLICY_FIFO || kind == POLICY_RR) {
        if (priority > FAIR_PRIORITY_MAX)
            priority = FAIR_PRIORITY_MAX;
        share->position = (uint64_t)RANK_REAL << FAIR_RANK_SHIFT | (FAIR_PRIORITY_MAX - priority)
                                                                       << FAIR_PRIORITY_SHIFT;
        share->rate = 0;
        share->slice = kind == POLICY_RR ? FAIR_ROUND : UINT64_MAX;
        share->load = load_of(FAIR_WEIGHT_REAL);
        return;
    }
    if (share_rank(share) != RANK_FAIR)
        share->position = FAIR_BASE; /* run_queue_wake or share_attach brings it into the queue's range */
    weight = kind == POLICY_IDLE ? FAIR_WEIGHT_IDLE : fair_weight(nice);
    share->load = load_of(weight);
    share->rate = ((uint64_t)FAIR_WEIGHT_NORMAL << 32) / weight;
    share->slice = FAIR_SLICE;
    share->behind = (uint64_t)((unsigned __int128)FAIR_BEHIND * share->rate >> 32);
}

void run_queue_yield(struct run_queue *queue, struct sched_entity *share)
{
    const struct sched_entity *first = run_queue_first(queue);

    if (share_rank(share) != RANK_FAIR)
        share_requeue(queue, share);
    else if (first != NULL && share_rank(first) == RANK_FAIR && share->position <= first->position)
        share->position = first->position + 1;
}

void run_queue_remove(struct run_queue *queue, struct sched_entity *share)
{
    time_queue_remove(&queue->ready, &share->node);
    queue->ready_count--;
    queue->load -= share->load;
}

void share_new(struct sched_entity *share)
{
    if (share_rank(share) == RANK_FAIR)
        share->position = FAIR_BASE + FAIR_CREDIT;
}

void share_detach(struct sched_entity *share, const struct run_queue *from)
{
    if (share_rank(share) != RANK_FAIR)
        return;
    share->position = share->position + FAIR_CREDIT > from->floor
                          ? FAIR_BASE + (share->position + FAIR_CREDIT - from->floor)
                          : FAIR_BASE;
}

void share_attach(struct sched_entity *share, struct run_queue *to)
{
    if (share_rank(share) == RANK_FAIR)
        share->position = to->floor + (share->position - FAIR_BASE) - FAIR_CREDIT;
}

void run_queue_change(struct run_queue *queue, struct sched_entity *share, bool ready, uint32_t policy, int nice)
{
    enum fair_rank before = share_rank(share);

    if (ready)
        run_queue_remove(queue, share);
    else
        queue->load -= share->load;
    share_set(share, policy, nice);
    if (share_rank(share) != RANK_FAIR)
        share_requeue(queue, share);
    else if (before != RANK_FAIR)
        share->position = queue->floor;
    queue->load += share->load;
    if (ready)
        run_queue_put(queue, share);
}
