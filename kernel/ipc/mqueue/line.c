/* The messages of a queue, and the lines of the tasks that wait for one or for room. See internal.h; ipc.md has the
 * table of a waiting task. */
#include "kernel/abi/errno.h"
#include "kernel/file/file.h"
#include "kernel/ipc/mqueue/internal.h"
#include "mm/frame/heap.h"

#define WAITERS_MAX 2048u /* of one queue: a step looks at all of them */

void mqueue_free_message(struct message *message)
{
    if (message != NULL)
        heap_free(message, sizeof(*message) + message->size);
}

void mqueue_insert_locked(struct mqueue *queue, struct message *message, bool first)
{
    struct list *at = &queue->messages;

    while (at->previous != &queue->messages) {
        uint32_t priority = container_of(at->previous, struct message, node)->priority;

        if (priority > message->priority || (priority == message->priority && !first))
            break;
        at = at->previous;
    }
    list_insert_before(&message->node, at);
    queue->count++;
}

struct waiter *mqueue_find_waiter(struct list *list, uint32_t task)
{
    list_for_each(node, list) {
        struct waiter *waiter = container_of(node, struct waiter, node);

        if (waiter->task == task)
            return waiter;
    }
    return NULL;
}

int64_t mqueue_wait_locked(struct file *file, const struct mqueue_call *call, struct list *list,
                           struct message *message)
{
    struct mqueue *queue = file->state;
    struct waiter *waiter = queue->waiting < WAITERS_MAX ? heap_alloc(sizeof(*waiter)) : NULL;
    struct list *before = list->next;

    if (waiter == NULL)
        return -ENOMEM;
    *waiter = (struct waiter){.file = file,
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
    heap_free(waiter, sizeof(*waiter));
}

/* The first task of LIST has been served. */
static struct waiter *serve_first(struct mqueue *queue, struct list *list)
{
    struct waiter *waiter = container_of(list->next, struct waiter, node);

    list_remove(&waiter->node);
    list_append(&queue->served, &waiter->node);
    return waiter;
}

bool mqueue_hand_over_locked(struct mqueue *queue, struct message *message)
{
    if (list_empty(&queue->receivers))
        return false;
    serve_first(queue, &queue->receivers)->message = message;
    return true;
}

void mqueue_let_in_locked(struct mqueue *queue)
{
    struct waiter *waiter;

    if (list_empty(&queue->senders) || queue->count >= queue->count_max)
        return;
    waiter = serve_first(queue, &queue->senders);
    mqueue_insert_locked(queue, waiter->message, false);
    waiter->message = NULL;
}

bool mqueue_end_wait_locked(struct mqueue *queue, struct waiter *waiter)
{
    struct message *message = waiter->sends ? NULL : waiter->message;
    bool event = message != NULL;

    if (event)
        waiter->message = NULL;
    mqueue_forget_waiter(queue, waiter);
    if (event && !mqueue_hand_over_locked(queue, message))
        mqueue_insert_locked(queue, message, true);
    return event;
}

bool mqueue_end_waits_locked(struct mqueue *queue, const struct file *file, uint32_t kernel)
{
    struct list *lists[] = {&queue->senders, &queue->receivers, &queue->served};
    bool event = false;

    for (uint32_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        list_for_each_safe(node, lists[i]) {
            struct waiter *waiter = container_of(node, struct waiter, node);

            if (file != NULL ? waiter->file == file : waiter->kernel == kernel)
                event |= mqueue_end_wait_locked(queue, waiter);
        }
    }
    return event;
}
