/* Objects held for areas. See the header. */
#include "mm/file_hold.h"

#include <stddef.h>

#include "boot/instance.h"
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/lib/list.h"
#include "kernel/lib/log.h"
#include "kernel/lib/panic.h"
#include "mm/area.h"
#include "mm/backing.h"
#include "mm/file_object.h"
#include "mm/heap.h"
#include "mm/wire.h"
#include "msg/call.h"
#include "msg/channel.h"

#define BUCKETS 64u

struct hold {
    struct list node;
    uint64_t object;  /* [i] backing_whole */
    uint64_t users;   /* [k] areas of spaces at home here, and changes under way */
    uint32_t granted; /* [k] */
    struct msg_asking asking;
    struct msg_file_hold message;
};

static struct spinlock lock;
static struct list buckets[BUCKETS]; /* [k] */
static uint64_t count;               /* [a] */

static struct list *bucket_of(uint64_t object)
{
    return &buckets[(backing_object(object) + backing_kernel(object) * 37u) % BUCKETS];
}

static struct hold *find_locked(uint64_t object)
{
    list_for_each(node, bucket_of(object)) {
        struct hold *hold = container_of(node, struct hold, node);

        if (hold->object == object)
            return hold;
    }
    return NULL;
}

int file_hold_begin(uint64_t backing, bool make)
{
    uint64_t object = backing_whole(backing);
    struct hold *hold;
    int error = 0;

    if (backing_stays(backing))
        return 0;
    spin_lock(&lock);
    hold = find_locked(object);
    if (hold == NULL && make && (hold = heap_alloc(sizeof(*hold))) != NULL) {
        hold->object = object;
        list_append(bucket_of(object), &hold->node);
        __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    }
    if (hold != NULL)
        hold->users++;
    else
        error = make ? -ENOMEM : -EFAULT;
    spin_unlock(&lock);
    return error;
}

void file_hold_grant(uint64_t backing, uint32_t more)
{
    struct hold *hold;

    spin_lock(&lock);
    hold = find_locked(backing_whole(backing));
    assert(hold != NULL); /* the caller is a user */
    hold->granted += more;
    spin_unlock(&lock);
}

static void given_back(void *context, uint32_t kernel, const void *reply, int length)
{
    (void)reply;
    if (length < 0)
        log_line("mm: kernel %u refuses to take back an object (error %d)", kernel, length);
    heap_free(context, sizeof(struct hold));
}

/* HOLD has no user, and nobody finds it any more. */
static void give_back(struct hold *hold)
{
    uint32_t kernel = backing_kernel(hold->object);

    __atomic_fetch_sub(&count, 1, __ATOMIC_RELAXED);
    if (hold->granted == 0) {
        heap_free(hold, sizeof(*hold));
    } else if (kernel == instance.kernel) {
        given_back(hold, kernel, NULL, file_object_hold(hold->object, instance.kernel, -(int64_t)hold->granted));
    } else {
        hold->message = (struct msg_file_hold){
            .backing = hold->object, .kernel = instance.kernel, .more = -(int64_t)hold->granted};
        msg_ask(&hold->asking, kernel, MSG_FILE_HOLD, &hold->message, sizeof(hold->message), given_back, hold);
    }
}

void file_hold_end(uint64_t backing)
{
    struct hold *hold;
    bool last;

    if (backing_stays(backing))
        return;
    spin_lock(&lock);
    hold = find_locked(backing_whole(backing));
    assert(hold != NULL && hold->users > 0);
    last = --hold->users == 0;
    if (last)
        list_remove(&hold->node);
    spin_unlock(&lock);
    if (last)
        give_back(hold);
}

/* An area more or less: another one, or a change, has the object already when there is one more. */
static void note_area(uint64_t backing, bool more)
{
    if (!more)
        file_hold_end(backing);
    else if (file_hold_begin(backing, false) != 0)
        panic("mm: an area of object %lx, which nobody holds", (unsigned long)backing);
}

static int ask(uint64_t backing, uint32_t kernel, int64_t more)
{
    struct msg_file_hold message = {.backing = backing_whole(backing), .kernel = kernel, .more = more};
    uint32_t owner = backing_kernel(backing);
    int length;

    if (owner == instance.kernel)
        return file_object_hold(backing, kernel, more);
    length = msg_call(owner, MSG_FILE_HOLD, &message, sizeof(message), NULL, 0, "hold of a file", backing);
    return length < 0 ? length : 0;
}

int file_hold_take(uint64_t backing)
{
    int error = backing_stays(backing) ? 0 : ask(backing, instance.kernel, 1);

    if (error != 0 || backing_stays(backing))
        return error;
    error = file_hold_begin(backing, true);
    if (error == 0)
        file_hold_grant(backing, 1);
    else
        ask(backing, instance.kernel, -1);
    return error;
}

void file_hold_return(uint64_t backing, uint32_t kernel)
{
    int error = ask(backing, kernel, -1);

    if (error != 0)
        log_line("mm: kernel %u refuses to take back an object (error %d)", backing_kernel(backing), error);
}

void file_hold_each(void (*each)(void *context, uint64_t backing, uint32_t granted), void *context)
{
    for (uint32_t i = 0; i < BUCKETS; i++) {
        list_for_each(node, &buckets[i]) {
            const struct hold *hold = container_of(node, const struct hold, node);

            each(context, hold->object, hold->granted);
        }
    }
}

uint64_t file_hold_count(void)
{
    return __atomic_load_n(&count, __ATOMIC_RELAXED);
}

static void handle_hold(const struct msg *m)
{
    const struct msg_file_hold *message = m->data;
    int error = message->kernel < instance.kernels
                    ? file_object_hold(message->backing, (uint32_t)message->kernel, message->more)
                    : -EPROTO;

    if (error != 0)
        msg_reply_error(&m->ticket, error);
    else
        msg_reply(&m->ticket, NULL, 0);
}

void file_hold_init(void)
{
    for (uint32_t i = 0; i < BUCKETS; i++)
        list_init(&buckets[i]);
    area_refers = note_area;
    msg_register(MSG_FILE_HOLD, handle_hold, sizeof(struct msg_file_hold), 0);
}
