/* Holds: the objects that areas of spaces at home here refer to. See the header; mm/file/ask.c answers queries. */
#include "mm/file/hold.h"

#include <stddef.h>

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/lib/list.h"
#include "kernel/lib/log.h"
#include "kernel/lib/panic.h"
#include "mm/area/backing.h"
#include "mm/file/internal.h"
#include "mm/file/object.h"
#include "mm/file/wire.h"
#include "mm/frame/heap.h"
#include "mm/space/space.h"
#include "msg/channel.h"
#include "msg/request/call.h"

#define BUCKETS 64u

struct hold {
    struct list node;
    uint64_t object;           /* [i] backing_whole */
    uint64_t users;            /* [k] areas of spaces at home here, and changes under way */
    uint32_t granted;          /* [k] grants of the object's kernel */
    uint32_t attached;         /* [k] areas made by shmat */
    struct file_stamps stamps; /* [k] of attached areas */
    struct msg_asking asking;
    struct msg_file_hold message;
};

struct spinlock file_hold_lock;
static struct list buckets[BUCKETS]; /* [k] holds with users */
static struct list returning;        /* [k] holds without users, until the object's kernel has taken the grants back */

static struct list *bucket_of(uint64_t object)
{
    return &buckets[(backing_object(object) + backing_kernel(object) * 37u) % BUCKETS];
}

static struct hold *find_in(struct list *list, uint64_t object)
{
    list_for_each(node, list) {
        struct hold *hold = container_of(node, struct hold, node);

        if (hold->object == object)
            return hold;
    }
    return NULL;
}

static struct hold *find_locked(uint64_t object)
{
    return find_in(bucket_of(object), object);
}

/* --- stamps --- */

static void stamp_join(struct file_stamp *to, const struct file_stamp *other)
{
    if (other->time > to->time)
        *to = *other;
}

void file_stamps_join(struct file_stamps *to, const struct file_stamps *other)
{
    stamp_join(&to->came, &other->came);
    stamp_join(&to->went, &other->went);
}

static void stamp(struct file_stamp *to, uint32_t process)
{
    stamp_join(to, &(struct file_stamp){clock_epoch() + clock_now(), process});
}

void file_hold_stamp(uint64_t backing, const struct file_stamps *stamps)
{
    struct hold *hold;

    spin_lock(&file_hold_lock);
    hold = find_locked(backing_whole(backing));
    assert(hold != NULL);
    file_stamps_join(&hold->stamps, stamps);
    spin_unlock(&file_hold_lock);
}

/* --- users --- */

static struct hold *use_locked(uint64_t backing, bool make)
{
    uint64_t object = backing_whole(backing);
    struct hold *hold = find_locked(object);

    if (hold == NULL && make && (hold = heap_alloc(sizeof(*hold))) != NULL) {
        hold->object = object;
        list_append(bucket_of(object), &hold->node);
    }
    if (hold != NULL)
        hold->users++;
    return hold;
}

int file_hold_begin(uint64_t backing, bool make)
{
    const struct hold *hold;

    if (backing_stays(backing))
        return 0;
    spin_lock(&file_hold_lock);
    hold = use_locked(backing, make);
    spin_unlock(&file_hold_lock);
    if (hold == NULL)
        return make ? -ENOMEM : -EFAULT;
    return 0;
}

void file_hold_grant(uint64_t backing, uint32_t more)
{
    struct hold *hold;

    spin_lock(&file_hold_lock);
    hold = find_locked(backing_whole(backing));
    assert(hold != NULL); /* the caller is a user */
    hold->granted += more;
    spin_unlock(&file_hold_lock);
}

/* --- giving back --- */

bool file_hold_returning_locked(uint64_t object)
{
    return find_in(&returning, object) != NULL;
}

struct msg_file_held file_hold_notify_locked(uint64_t object)
{
    const struct hold *hold = find_locked(object);

    if (hold == NULL)
        return (struct msg_file_held){0};
    return (struct msg_file_held){.came = hold->stamps.came.time,
                                  .came_of = hold->stamps.came.process,
                                  .went = hold->stamps.went.time,
                                  .went_of = hold->stamps.went.process,
                                  .granted = hold->granted,
                                  .attached = hold->attached};
}

static void given_back(void *context, uint32_t kernel, const void *reply, int length)
{
    struct hold *hold = context;
    uint64_t object = hold->object;

    (void)reply;
    if (length < 0)
        log_line("mm: kernel %u refuses to take back an object (error %d)", kernel, length);
    spin_lock(&file_hold_lock);
    list_remove(&hold->node);
    spin_unlock(&file_hold_lock);
    heap_free(hold, sizeof(*hold));
    file_hold_answer(object);
}

/* Gives the grants of HOLD, which is in RETURNING, back to the object's kernel. Does not wait for the answer. */
static void give_back(struct hold *hold)
{
    uint32_t kernel = backing_kernel(hold->object);

    if (hold->granted == 0) {
        given_back(hold, kernel, NULL, 0);
    } else if (kernel == instance.kernel) {
        given_back(hold, kernel, NULL,
                   file_object_hold(hold->object, instance.kernel, -(int64_t)hold->granted, &hold->stamps));
    } else {
        hold->message = (struct msg_file_hold){.backing = hold->object,
                                               .kernel = instance.kernel,
                                               .more = -(int32_t)hold->granted,
                                               .came = hold->stamps.came.time,
                                               .came_of = hold->stamps.came.process,
                                               .went = hold->stamps.went.time,
                                               .went_of = hold->stamps.went.process};
        msg_ask(&hold->asking, kernel, MSG_FILE_HOLD, &hold->message, sizeof(hold->message), given_back, hold);
    }
}

static bool unuse_locked(struct hold *hold)
{
    if (--hold->users != 0)
        return false;
    list_remove(&hold->node);
    list_append(&returning, &hold->node);
    return true;
}

/* --- areas --- */

static void attach_locked(struct hold *hold, uint64_t backing, uint32_t process, bool stamps)
{
    if (!backing_attached(backing))
        return;
    hold->attached++;
    if (stamps)
        stamp(&hold->stamps.came, process);
}

static void detach_locked(struct hold *hold, uint64_t backing, uint32_t process)
{
    if (!backing_attached(backing))
        return;
    assert(hold->attached > 0);
    hold->attached--;
    stamp(&hold->stamps.went, process);
}

/* area_refers: counts an area that was added or removed. When an area is added, another area or a change under way is a
 * user of the hold already. A grant that comes with the area is counted in the same critical section, so that a query
 * sees both or neither. */
static void note_area(struct area_list *list, uint64_t backing, enum area_event event)
{
    uint32_t process = (uint32_t)container_of(list, struct space, areas)->id;
    struct hold *hold;
    bool last = false;

    if (backing_stays(backing))
        return;
    spin_lock(&file_hold_lock);
    hold = find_locked(backing_whole(backing));
    if (hold == NULL)
        panic("mm: an area of object %lx, which nobody holds", (unsigned long)backing);
    if (event == AREA_GOES) {
        detach_locked(hold, backing, process);
        last = unuse_locked(hold);
    } else {
        hold->users++;
        hold->granted += list->granted ? 1 : 0;
        list->granted = false;
        attach_locked(hold, backing, process, event == AREA_COMES);
    }
    spin_unlock(&file_hold_lock);
    if (last)
        give_back(hold);
}

/* Has the object's kernel change the number of KERNEL's grants by MORE. Waits. */
static int ask(uint64_t backing, uint32_t kernel, int32_t more)
{
    struct msg_file_hold message = {.backing = backing_whole(backing), .kernel = kernel, .more = more};
    uint32_t owner = backing_kernel(backing);
    struct msg_file_held held;
    int length;

    if (owner == instance.kernel)
        return file_object_hold(backing, kernel, more, NULL);
    length = msg_call(owner, MSG_FILE_HOLD, &message, sizeof(message), &held, sizeof(held), "hold of a file", backing);
    return length < 0 ? length : 0;
}

/* Counts an area of a fork's child, of which PROCESS is the parent, and GRANTED grants. */
static int take(uint64_t backing, uint32_t process, uint32_t granted)
{
    struct hold *hold;

    spin_lock(&file_hold_lock);
    hold = use_locked(backing, granted != 0);
    if (hold != NULL) {
        hold->granted += granted;
        attach_locked(hold, backing, process, true);
    }
    spin_unlock(&file_hold_lock);
    if (hold == NULL)
        return granted != 0 ? -ENOMEM : -EFAULT;
    return 0;
}

int file_hold_take(uint64_t backing, uint32_t process)
{
    int error = backing_stays(backing) ? 0 : ask(backing, instance.kernel, 1);

    if (error != 0 || backing_stays(backing))
        return error;
    error = take(backing, process, 1);
    if (error != 0)
        ask(backing, instance.kernel, -1);
    return error;
}

int file_hold_take_more(uint64_t backing, uint32_t process)
{
    return backing_stays(backing) ? 0 : take(backing, process, 0);
}

/* Removes a user. DETACHED, if not NULL: the process of an attached area that is not made after all. */
static void end_use(uint64_t backing, const uint32_t *detached)
{
    struct hold *hold;
    bool last;

    if (backing_stays(backing))
        return;
    spin_lock(&file_hold_lock);
    hold = find_locked(backing_whole(backing));
    assert(hold != NULL && hold->users > 0);
    if (detached != NULL)
        detach_locked(hold, backing, *detached);
    last = unuse_locked(hold);
    spin_unlock(&file_hold_lock);
    if (last)
        give_back(hold);
}

void file_hold_untake(uint64_t backing, uint32_t process)
{
    end_use(backing, &process);
}

void file_hold_end(uint64_t backing)
{
    end_use(backing, NULL);
}

void file_hold_return(uint64_t backing, uint32_t kernel)
{
    int error = ask(backing, kernel, -1);

    if (error != 0)
        log_line("mm: kernel %u refuses to take back an object (error %d)", backing_kernel(backing), error);
}

void file_hold_each(void (*each)(void *context, uint64_t backing, const struct file_held *held), void *context)
{
    for (uint32_t i = 0; i < BUCKETS; i++) {
        list_for_each(node, &buckets[i]) {
            const struct hold *hold = container_of(node, const struct hold, node);

            each(context, hold->object,
                 &(struct file_held){.granted = hold->granted, .attached = hold->attached, .stamps = hold->stamps});
        }
    }
}

void file_hold_look(void (*each)(void *context, uint64_t backing, const struct file_held *held), void *context)
{
    spin_lock(&file_hold_lock);
    file_hold_each(each, context);
    spin_unlock(&file_hold_lock);
}

static void handle_hold(const struct msg *m)
{
    const struct msg_file_hold *message = m->data;
    const struct file_stamps stamps = {{message->came, message->came_of}, {message->went, message->went_of}};
    const struct msg_file_held held = {0};
    int error;

    if (message->more == 0) {
        file_hold_question(m, backing_whole(message->backing));
        return;
    }
    error = message->kernel < instance.kernels
                ? file_object_hold(message->backing, message->kernel, message->more, &stamps)
                : -EPROTO;
    if (error != 0)
        msg_reply_error(&m->ticket, error);
    else
        msg_reply(&m->ticket, &held, sizeof(held));
}

void file_hold_init(void)
{
    for (uint32_t i = 0; i < BUCKETS; i++)
        list_init(&buckets[i]);
    list_init(&returning);
    file_hold_ask_init();
    area_refers = note_area;
    msg_register(MSG_FILE_HOLD, handle_hold, sizeof(struct msg_file_hold), sizeof(struct msg_file_held));
}
