/* The messages of a queue, and the lines of the tasks that wait for one or for room. See internal.h; ipc.md has the
 * table of a waiting task. */
#include "kernel/abi/errno.h"
#include "kernel/abi/signal.h"
#include "kernel/file/file.h"
#include "kernel/ipc/mqueue/internal.h"
#include "mm/frame/heap.h"

#define WAITERS_MAX 2048u /* of one queue: a step looks at all of them */

void mqueue_outcome_init(struct mqueue_outcome *outcome)
{
    *outcome = (struct mqueue_outcome){.event = false};
    list_init(&outcome->notices);
}

void mqueue_free_message(struct message *message)
{
    if (message != NULL)
        heap_free(message, sizeof(*message) + message->size);
}

static bool comes_before(const struct message *a, const struct message *b)
{
    return a->priority > b->priority || (a->priority == b->priority && a->sequence < b->sequence);
}

static void insert_locked(struct mqueue *queue, struct message *message)
{
    struct list *at = &queue->messages;

    while (at->previous != &queue->messages && comes_before(message, container_of(at->previous, struct message, node)))
        at = at->previous;
    list_insert_before(&message->node, at);
    queue->count++;
}

struct waiter *mqueue_find_waiter(struct mqueue *queue, uint32_t task)
{
    struct list *lists[] = {&queue->served, &queue->receivers, &queue->senders};

    for (uint32_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        list_for_each(node, lists[i]) {
            struct waiter *waiter = container_of(node, struct waiter, node);

            if (waiter->task == task)
                return waiter;
        }
    }
    return NULL;
}

int64_t mqueue_wait_locked(struct file *file, const struct mqueue_call *call, struct message *message)
{
    struct mqueue *queue = file->state;
    struct list *list = message != NULL ? &queue->senders : &queue->receivers;
    struct list *before = list->next;
    struct mqueue_notice *notice;
    struct waiter *waiter;

    /* An operation that has the file pinned may come here after its last close: then release, which ends the waits
     * under the same lock once `opens` is 0, may have been here already. */
    if (__atomic_load_n(&file->opens, __ATOMIC_RELAXED) == 0)
        return -ESRCH;
    waiter = queue->waiting < WAITERS_MAX ? heap_alloc(sizeof(*waiter)) : NULL;
    notice = waiter != NULL ? heap_alloc(sizeof(*notice)) : NULL;
    if (notice == NULL) {
        heap_free(waiter, sizeof(*waiter));
        return -ENOMEM;
    }
    notice->kernel = call->kernel;
    notice->token = call->token;
    *waiter = (struct waiter){.file = file,
                              .notice = notice,
                              .task = call->task,
                              .kernel = call->kernel,
                              .urgency = call->urgency,
                              .sends = message != NULL,
                              .message = message};
    while (before != list && container_of(before, struct waiter, node)->urgency >= waiter->urgency)
        before = before->next;
    list_insert_before(&waiter->node, before);
    queue->waiting++;
    return -EINPROGRESS;
}

void mqueue_forget_waiter(struct mqueue *queue, struct waiter *waiter)
{
    list_remove(&waiter->node);
    queue->waiting--;
    mqueue_free_message(waiter->message);
    heap_free(waiter->notice, sizeof(*waiter->notice));
    heap_free(waiter, sizeof(*waiter));
}

static void tell(struct waiter *waiter, struct mqueue_outcome *outcome)
{
    if (waiter->notice != NULL)
        list_append(&outcome->notices, &waiter->notice->node);
    waiter->notice = NULL;
}

/* The first task of LIST has been served. */
static struct waiter *serve_first(struct mqueue *queue, struct list *list, struct mqueue_outcome *outcome)
{
    struct waiter *waiter = container_of(list->next, struct waiter, node);

    list_remove(&waiter->node);
    list_append(&queue->served, &waiter->node);
    waiter->served = true;
    tell(waiter, outcome);
    return waiter;
}

void mqueue_arrive_locked(struct mqueue *queue, struct message *message, struct mqueue_outcome *outcome)
{
    if (message->sequence == 0)
        message->sequence = ++queue->sequence;
    if (!list_empty(&queue->receivers)) {
        serve_first(queue, &queue->receivers, outcome)->message = message;
        return;
    }
    outcome->event = true;
    if (queue->count == 0 && queue->process != 0) {
        outcome->process = queue->process;
        outcome->info = (struct signal_info){.signal = queue->signal,
                                             .code = SI_MESGQ,
                                             .pid = message->process,
                                             .uid = message->uid,
                                             .value = queue->value};
        queue->process = 0;
    }
    insert_locked(queue, message);
}

void mqueue_let_in_locked(struct mqueue *queue, struct mqueue_outcome *outcome)
{
    struct waiter *waiter;

    if (list_empty(&queue->senders) || queue->count >= queue->count_max)
        return;
    waiter = serve_first(queue, &queue->senders, outcome);
    waiter->message->sequence = ++queue->sequence;
    insert_locked(queue, waiter->message);
    waiter->message = NULL;
}

void mqueue_end_wait_locked(struct mqueue *queue, struct waiter *waiter, struct mqueue_outcome *outcome)
{
    struct message *message = waiter->sends ? NULL : waiter->message;

    if (message != NULL)
        waiter->message = NULL;
    mqueue_forget_waiter(queue, waiter);
    if (message != NULL)
        mqueue_arrive_locked(queue, message, outcome);
}

void mqueue_end_waits_locked(struct mqueue *queue, const struct file *file, uint32_t kernel,
                             struct mqueue_outcome *outcome)
{
    /* served last: what those have got must not go to others whose wait ends, too */
    struct list *lists[] = {&queue->senders, &queue->receivers, &queue->served};

    for (uint32_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        list_for_each_safe(node, lists[i]) {
            struct waiter *waiter = container_of(node, struct waiter, node);

            if (file != NULL ? waiter->file != file : waiter->kernel != kernel)
                continue;
            if (file != NULL)
                tell(waiter, outcome);
            mqueue_end_wait_locked(queue, waiter, outcome);
        }
    }
}
