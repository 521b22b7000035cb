/* Queries for what a home knows about an object (struct file_held). While grants of the object are on their way back to
 * its kernel, the answer is deferred, so that the object's kernel has taken back all that the home does not count any
 * more. See mm/file/hold.h. */
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/list.h"
#include "kernel/wait/completion.h"
#include "mm/area/backing.h"
#include "mm/file/hold.h"
#include "mm/file/internal.h"
#include "mm/file/wire.h"
#include "mm/frame/heap.h"
#include "msg/channel.h"
#include "msg/message.h"
#include "msg/request/call.h"

/* A query for an object whose grants are being given back. */
struct question {
    struct list node;
    uint64_t object;
    struct msg_kept kept;
    struct completion *done; /* not NULL: a task of this kernel waits, and KEPT is not used */
};

static struct list questions; /* [k] file_hold_lock: deferred queries */

void file_hold_ask_init(void)
{
    list_init(&questions);
}

/* --- the home that is asked --- */

static void answered(struct msg_kept *kept)
{
    heap_free(container_of(kept, struct question, kept), sizeof(struct question));
}

static void answer(struct question *question)
{
    struct msg_file_held held;

    if (question->done != NULL) {
        completion_signal(question->done);
        return;
    }
    spin_lock(&file_hold_lock);
    held = file_hold_notify_locked(question->object);
    spin_unlock(&file_hold_lock);
    msg_kept_reply(&question->kept, &held, sizeof(held), answered);
}

/* Removes a query for OBJECT from the list and returns it, or NULL. */
static struct question *next_question_locked(uint64_t object)
{
    list_for_each(node, &questions) {
        struct question *question = container_of(node, struct question, node);

        if (question->object == object) {
            list_remove(node);
            return question;
        }
    }
    return NULL;
}

void file_hold_answer(uint64_t object)
{
    struct question *question;

    do {
        spin_lock(&file_hold_lock);
        if (list_empty(&questions) || file_hold_returning_locked(object))
            question = NULL;
        else
            question = next_question_locked(object);
        spin_unlock(&file_hold_lock);
        if (question != NULL)
            answer(question);
    } while (question != NULL);
}

void file_hold_question(const struct msg *m, uint64_t object)
{
    struct question *question = heap_alloc(sizeof(*question));
    struct msg_file_held held = {0};
    bool waits;

    if (question == NULL) {
        msg_reply_error(&m->ticket, -ENOMEM);
        return;
    }
    question->object = object;
    spin_lock(&file_hold_lock);
    waits = file_hold_returning_locked(object);
    if (waits) {
        msg_keep(m, &question->kept, NULL);
        list_append(&questions, &question->node);
    } else {
        held = file_hold_notify_locked(object);
    }
    spin_unlock(&file_hold_lock);
    if (waits)
        return;
    heap_free(question, sizeof(*question));
    msg_reply(&m->ticket, &held, sizeof(held));
}

/* --- the asker --- */

static struct file_held held_of(const struct msg_file_held *notified)
{
    return (struct file_held){.granted = notified->granted,
                              .attached = notified->attached,
                              .stamps = {{notified->came, notified->came_of}, {notified->went, notified->went_of}}};
}

static void ask_here(uint64_t object, struct file_held *held)
{
    static const struct wait_reason reason = {.what = "shared memory that is being given back", .kernel = -1};
    struct completion done;
    struct question question = {.object = object, .done = &done};
    struct msg_file_held notified;
    bool waits;

    completion_init(&done);
    spin_lock(&file_hold_lock);
    waits = file_hold_returning_locked(object);
    if (waits)
        list_append(&questions, &question.node);
    spin_unlock(&file_hold_lock);
    if (waits)
        msg_wait(&done, &reason);
    spin_lock(&file_hold_lock);
    notified = file_hold_notify_locked(object);
    spin_unlock(&file_hold_lock);
    *held = held_of(&notified);
}

int file_hold_ask(uint32_t kernel, uint64_t backing, struct file_held *held)
{
    struct msg_file_hold message = {.backing = backing_whole(backing)};
    struct msg_file_held notified;
    int length;

    if (kernel == instance.kernel) {
        ask_here(message.backing, held);
        return 0;
    }
    length = msg_call(kernel, MSG_FILE_HOLD, &message, sizeof(message), &notified, sizeof(notified), "who is attached",
                      backing);
    if (length != (int)sizeof(notified))
        return length < 0 ? length : -EPROTO;
    *held = held_of(&notified);
    return 0;
}
