/* Questions about objects that a home holds: what it knows of one, once all that it has given back has reached the
 * object's kernel. See mm/file/hold.h. */
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
#include "msg/call.h"
#include "msg/channel.h"
#include "msg/message.h"

/* Who wants to know of an object that is being given back. */
struct question {
    struct list node;
    uint64_t object;
    struct msg_kept kept;
    struct completion *done; /* somebody here waits, and no request is kept */
};

static struct list questions; /* [k] of objects that are being given back */

void file_hold_ask_init(void)
{
    list_init(&questions);
}

/* --- whoever is asked --- */

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
    held = file_hold_tell_locked(question->object);
    spin_unlock(&file_hold_lock);
    msg_kept_reply(&question->kept, &held, sizeof(held), answered);
}

/* Takes a question for OBJECT from the list, or NULL. */
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
        held = file_hold_tell_locked(object);
    }
    spin_unlock(&file_hold_lock);
    if (waits)
        return;
    heap_free(question, sizeof(*question));
    msg_reply(&m->ticket, &held, sizeof(held));
}

/* --- whoever asks --- */

static struct file_held held_of(const struct msg_file_held *told)
{
    return (struct file_held){.granted = told->granted,
                              .attached = told->attached,
                              .stamps = {{told->came, told->came_of}, {told->went, told->went_of}}};
}

static void ask_here(uint64_t object, struct file_held *held)
{
    static const struct wait_reason reason = {.what = "shared memory that is being given back", .kernel = -1};
    struct completion done;
    struct question question = {.object = object, .done = &done};
    struct msg_file_held told;
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
    told = file_hold_tell_locked(object);
    spin_unlock(&file_hold_lock);
    *held = held_of(&told);
}

int file_hold_ask(uint32_t kernel, uint64_t backing, struct file_held *held)
{
    struct msg_file_hold message = {.backing = backing_whole(backing)};
    struct msg_file_held told;
    int length;

    if (kernel == instance.kernel) {
        ask_here(message.backing, held);
        return 0;
    }
    length = msg_call(kernel, MSG_FILE_HOLD, &message, sizeof(message), &told, sizeof(told), "who is attached",
                      backing);
    if (length != (int)sizeof(told))
        return length < 0 ? length : -EPROTO;
    *held = held_of(&told);
    return 0;
}
