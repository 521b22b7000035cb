/* Queues of pending signals. See the header. */
#include "tasks/signal/queue/queue.h"

#include "kernel/abi/errno.h"
#include "mm/frame/heap.h"
#include "tasks/quota/quota.h"

#define SYNCHRONOUS                                                                                                    \
    (SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGBUS) | SIGNAL_BIT(SIGILL) | SIGNAL_BIT(SIGTRAP) | SIGNAL_BIT(SIGFPE) |        \
     SIGNAL_BIT(SIGSYS))

struct queued {
    struct list node; /* in infos, in order of arrival */
    uint32_t uid;     /* whose quota it counts in */
    struct signal_info info;
};

void signal_queue_init(struct signal_queue *queue)
{
    *queue = (struct signal_queue){.pending = 0};
    list_init(&queue->infos);
}

static bool needs_info(const struct signal_info *info)
{
    return (info->signal >= SIGNAL_REALTIME && info->code != SI_USER) || info->code == SI_TIMER ||
           ((SIGNAL_BIT(info->signal) & SYNCHRONOUS) != 0 && info->code > 0);
}

/* Stands for the information about SIGNAL that there was no memory for. */
static struct signal_info info_missing(uint32_t signal)
{
    return (struct signal_info){.signal = signal};
}

int signal_queue_add(struct signal_queue *queue, const struct signal_info *info, uint32_t uid, uint64_t limit)
{
    uint64_t bit = SIGNAL_BIT(info->signal);
    struct queued *queued = NULL;
    uint64_t most = info->signal < SIGNAL_REALTIME && info->code >= 0 ? UINT64_MAX : limit; /* as on Linux */

    if ((queue->pending & bit) != 0 && info->signal < SIGNAL_REALTIME && info->code != SI_TIMER)
        return 0;
    if (queue->count < SIGNAL_QUEUE_MAX && quota_take(QUOTA_SIGNALS, uid, 1, most, -EAGAIN) == 0) {
        queued = heap_alloc(sizeof(*queued));
        if (queued == NULL)
            quota_give(QUOTA_SIGNALS, uid, 1);
    }
    if (queued == NULL && needs_info(info))
        return -EAGAIN;
    queue->pending |= bit;
    if (queued == NULL)
        return 0;
    queued->uid = uid;
    queued->info = *info;
    list_append(&queue->infos, &queued->node);
    queue->count++;
    return 0;
}

static void remove_queued(struct signal_queue *queue, struct queued *queued)
{
    list_remove(&queued->node);
    quota_give(QUOTA_SIGNALS, queued->uid, 1);
    heap_free(queued, sizeof(*queued));
    queue->count--;
}

bool signal_queue_take(struct signal_queue *queue, uint64_t set, struct signal_info *info)
{
    uint64_t ready = queue->pending & set;
    bool found = false;
    uint32_t signal;

    if (ready == 0)
        return false;
    if ((ready & SYNCHRONOUS) != 0)
        ready &= SYNCHRONOUS;
    signal = (uint32_t)__builtin_ctzll(ready) + 1;
    queue->pending &= ~SIGNAL_BIT(signal);
    list_for_each_safe(node, &queue->infos) {
        struct queued *queued = container_of(node, struct queued, node);

        if (queued->info.signal != signal)
            continue;
        if (found) { /* another instance is queued, so the signal stays pending */
            queue->pending |= SIGNAL_BIT(signal);
            break;
        }
        found = true;
        *info = queued->info;
        remove_queued(queue, queued);
    }
    if (!found)
        *info = info_missing(signal);
    return true;
}

void signal_queue_remove(struct signal_queue *queue, uint64_t set)
{
    queue->pending &= ~set;
    list_for_each_safe(node, &queue->infos) {
        struct queued *queued = container_of(node, struct queued, node);

        if ((SIGNAL_BIT(queued->info.signal) & set) != 0)
            remove_queued(queue, queued);
    }
}

uint32_t signal_queue_list(const struct signal_queue *queue, struct signal_info *out, uint32_t max)
{
    uint64_t missing = queue->pending;
    uint32_t count = 0;

    list_for_each(node, &queue->infos) {
        const struct queued *queued = container_of(node, struct queued, node);

        missing &= ~SIGNAL_BIT(queued->info.signal);
        if (count < max)
            out[count] = queued->info;
        count++;
    }
    for (; missing != 0; missing &= missing - 1, count++) {
        if (count < max)
            out[count] = info_missing((uint32_t)__builtin_ctzll(missing) + 1);
    }
    return count;
}
