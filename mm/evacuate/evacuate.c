/* Evacuation of a kernel's memory: the side of the kernel that is to stop, and the switch on all others. See the
 * header. All programs are quiesced, so nothing here contends with them; locks are taken because the functions called
 * here require them. */
#include "mm/evacuate/evacuate.h"

#include "kernel/abi/errno.h"
#include "kernel/lib/log.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "mm/change/change.h"
#include "mm/evacuate/internal.h"
#include "mm/file/object.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"
#include "mm/frame/kept.h"
#include "mm/frame/reference.h"
#include "mm/lease/lease.h"
#include "mm/page/zero_page.h"
#include "mm/space/entry.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "msg/slice.h"

/* --- leases --- */

/* One more request, for a page that is never leased, brings the home what was missing of leases that it has recalled
 * from here. */
static void return_leases(struct space *space, void *context)
{
    int *error = context;
    struct msg_space_change change = {.space = space->id, .operation = MSG_SPACE_RECLAIM};
    bool more = true;
    uint64_t at = 0;

    while (*error == 0 && more) {
        const struct lease *lease;

        spin_lock(&space->lock);
        lease = lease_map_next(&space->leases.map, at);
        more = lease != NULL;
        change.start = more ? lease->start : 0;
        change.length = more ? lease->end - lease->start : PAGE_SIZE;
        at = more ? lease->end : at;
        spin_unlock(&space->lock);
        if (more || space->leases.recalls != 0)
            *error = (int)space_ask_home(space, &change);
    }
}

int evacuate_leases(void)
{
    int error = 0;

    space_each(return_leases, &error);
    return error;
}

/* --- frames --- */

/* The frames of the kernel that is to stop and their copies, in ascending order of frames; on each kernel, from the
 * preparation on. While they are closed a step of a stop uses them, and messages change nothing. */
static struct spinlock pairs_lock;
static struct frame_pair *pairs;       /* [k] pairs_lock, or closed */
static uint64_t pair_count, pair_room; /* [k] pairs_lock, or closed */
static bool closed;                    /* [k] pairs_lock */

static void pairs_free_locked(void)
{
    heap_free(pairs, pair_room * sizeof(*pairs));
    pairs = NULL;
    pair_count = pair_room = 0;
    closed = false;
}

static void pairs_free(void)
{
    spin_lock(&pairs_lock);
    pairs_free_locked();
    spin_unlock(&pairs_lock);
}

/* From now on the pairs are the caller's, until pairs_free. */
static void pairs_close(void)
{
    spin_lock(&pairs_lock);
    closed = true;
    spin_unlock(&pairs_lock);
}

static uint64_t count_frames(void)
{
    uint64_t count = 0;
    uint32_t spaces;

    for (uint64_t frame = 0; (frame = frame_next_shared(frame, &spaces)) != 0; frame += PAGE_SIZE) {
        count += spaces != 0 ? 1 : 0;
        slice_check();
    }
    return count;
}

/* Has SUCCESSOR copy up to FRAMES_MAX frames from FROM on. *NEXT: the address to continue from, or 0 at the end. */
static int copy_some(uint32_t successor, uint64_t from, struct msg_evacuate *message, uint64_t *copies, uint64_t *next)
{
    struct shared_frame *frames = (struct shared_frame *)(void *)(message + 1);
    uint32_t spaces, count = 0;
    uint64_t frame = from;
    int length;

    while (count < FRAMES_MAX && (frame = frame_next_shared(frame, &spaces)) != 0) {
        if (spaces != 0)
            frames[count++] = (struct shared_frame){frame, spaces};
        frame += PAGE_SIZE;
        slice_check();
    }
    *next = count == FRAMES_MAX ? frame : 0;
    if (count == 0)
        return 0;
    *message = (struct msg_evacuate){.count = count};
    length = msg_call(successor, MSG_EVACUATE_FRAMES, message, sizeof(*message) + count * sizeof(*frames), copies,
                      FRAMES_MAX * sizeof(*copies), "copies of frames", from);
    if (length != (int)(count * sizeof(*copies)))
        return length < 0 ? length : -EPROTO;
    for (uint32_t i = 0; i < count; i++)
        pairs[pair_count++] = (struct frame_pair){frames[i].frame, copies[i]};
    return 0;
}

int evacuate_frames(uint32_t successor)
{
    struct msg_evacuate *message = heap_alloc(MSG_MAX);
    uint64_t *copies = heap_alloc(FRAMES_MAX * sizeof(*copies));
    uint64_t next = 1;
    int error = -ENOMEM;

    while (frame_kept_count() != 0 && frame_make_room()) /* the successor has caches of its own */
        slice_check();
    zero_page_leave();
    pairs_free();
    pairs_close();
    pair_room = count_frames() + 1;
    pairs = pair_room * sizeof(*pairs) <= PAGE_SIZE << FRAME_ORDER_MAX ? heap_alloc(pair_room * sizeof(*pairs)) : NULL;
    if (message != NULL && copies != NULL && pairs != NULL) {
        for (error = 0; next != 0 && error == 0;)
            error = copy_some(successor, next == 1 ? 0 : next, message, copies, &next);
        if (error == 0 && frame_kept_count() != 0) /* a program is being loaded */
            error = -EBUSY;
    }
    heap_free(message, MSG_MAX);
    heap_free(copies, FRAMES_MAX * sizeof(*copies));
    if (pairs == NULL)
        pair_room = 0;
    return error;
}

int evacuate_send_pairs(void)
{
    struct msg_evacuate *message = heap_alloc(sizeof(*message) + PAIRS_MAX * sizeof(*pairs));
    int worst = message == NULL ? -ENOMEM : 0;
    bool began = false; /* one message goes in any case: the others forget what they may have kept before */

    for (uint64_t done = 0; (done < pair_count || !began) && worst == 0; began = true) {
        uint32_t count = pair_count - done < PAIRS_MAX ? (uint32_t)(pair_count - done) : PAIRS_MAX;

        *message = (struct msg_evacuate){.at = done, .total = pair_count, .count = count};
        memcpy(message + 1, pairs + done, count * sizeof(*pairs));
        msg_gather(msg_peers_reachable(), MSG_EVACUATE_PAIRS, message, sizeof(*message) + count * sizeof(*pairs),
                   msg_note_error, &worst, "frames that others are to map copies of", done);
        done += count;
    }
    heap_free(message, sizeof(*message) + PAIRS_MAX * sizeof(*pairs));
    return worst;
}

static int keep_pairs_locked(const struct frame_pair *some, uint32_t count, uint64_t at, uint64_t total)
{
    if (closed)
        return -EPROTO;
    if (at == 0) {
        pairs_free_locked(); /* of a stop that its kernel has not lived to see given up */
        pairs = total < (PAGE_SIZE << FRAME_ORDER_MAX) / sizeof(*pairs) ? heap_alloc((total + 1) * sizeof(*pairs))
                                                                        : NULL;
        if (pairs == NULL)
            return -ENOMEM;
        pair_room = total + 1;
    }
    if (pairs == NULL || at != pair_count || total + 1 != pair_room || count > total - at)
        return -EPROTO;
    memcpy(pairs + at, some, count * sizeof(*pairs));
    pair_count += count;
    return 0;
}

int evacuate_keep_pairs(const struct frame_pair *some, uint32_t count, uint64_t at, uint64_t total)
{
    int error;

    spin_lock(&pairs_lock);
    error = keep_pairs_locked(some, count, at, total);
    spin_unlock(&pairs_lock);
    return error;
}

#define REPLACED_AT_ONCE 128u /* entries, without a turn for others */

struct replacing {
    const struct frame_pair *pairs;
    uint64_t count;
    uint32_t owner; /* of the frames that are replaced */
};

static uint64_t copy_of(const void *context, uint64_t frame)
{
    const struct replacing *r = context;
    uint64_t low = 0, high = r->count;

    while (low < high) {
        uint64_t middle = (low + high) / 2;

        if (r->pairs[middle].old < frame)
            low = middle + 1;
        else
            high = middle;
    }
    return low < r->count && r->pairs[low].old == frame ? r->pairs[low].new : 0;
}

/* Looks at REPLACED_AT_ONCE entries for the pages from VA on, of one leaf table. Returns whether one has changed. */
static bool replace_some(struct space *space, uint64_t va, const struct replacing *r)
{
    uint64_t *entries = r->owner == instance.kernel || owners_has(&space->owners, va, r->owner)
                            ? paging_entry(&space->tables, va, false)
                            : NULL;
    bool changed = false;

    for (uint32_t i = 0; entries != NULL && (i = paging_next_used(entries, i, REPLACED_AT_ONCE)) < REPLACED_AT_ONCE;
         i++) {
        uint64_t copy = copy_of(r, entries[i] & PAGING_FRAME);

        if (copy == 0)
            continue;
        entries[i] = space_entry_with(space, va + i * PAGE_SIZE, entries[i], copy);
        changed = true;
    }
    return changed;
}

/* Nobody uses what is replaced before the thaw, so one flush at the end is early enough. */
static void replace_in(struct space *space, void *context)
{
    bool changed = false;

    spin_lock(&space->lock);
    for (uint64_t va = 0; paging_next_leaf_look(&space->tables, &va, USER_END) != NULL; va += LEAF_SIZE) {
        for (uint32_t i = 0; i < LEAF_ENTRIES; i += REPLACED_AT_ONCE) {
            changed |= replace_some(space, va + i * PAGE_SIZE, context);
            spin_unlock(&space->lock);
            slice_check();
            spin_lock(&space->lock);
        }
    }
    if (changed)
        space_flush(space, 0, USER_END);
    spin_unlock(&space->lock);
}

void evacuate_replace(void)
{
    struct replacing r;

    pairs_close();
    if (pair_count == 0)
        return;
    r = (struct replacing){pairs, pair_count, frame_owner(pairs[0].old)};
    space_each(replace_in, &r);
    file_objects_replace(copy_of, &r);
}

/* --- entries --- */

struct sending {
    uint32_t successor;
    bool prepare;
    int error;
    struct msg_evacuate *message;
    struct space *space;
};

static void send_entries(struct sending *sending)
{
    struct msg_evacuate *message = sending->message;
    uint32_t home = sending->space->home == instance.kernel ? sending->successor : sending->space->home;
    int error;

    if (message->count == 0 || sending->error != 0)
        return;
    message->space = sending->space->id;
    message->prepare = sending->prepare ? 1 : 0;
    error = msg_call(home, MSG_EVACUATE_ENTRIES, message,
                     (uint32_t)(sizeof(*message) + message->count * sizeof(struct moved_entry)), NULL, 0,
                     "pages to go to another kernel", message->space);
    if (error < 0)
        sending->error = error;
    *message = (struct msg_evacuate){.count = 0};
}

static void send_space(struct space *space, void *context)
{
    struct sending *sending = context;
    struct moved_entry *entries = (struct moved_entry *)(void *)(sending->message + 1);
    bool all = space->home == instance.kernel;
    uint64_t *leaf;

    sending->space = space;
    *sending->message = (struct msg_evacuate){.count = 0};
    for (uint64_t va = 0; sending->error == 0 && (leaf = paging_next_leaf(&space->tables, &va, USER_END)) != NULL;
         va += LEAF_SIZE) {
        slice_check();
        for (uint32_t i = 0; i < LEAF_ENTRIES && sending->error == 0; i++) {
            if ((leaf[i] & PAGING_SOFT_PENDING_FREE) != 0) { /* left by an unmap that ran out of memory */
                log_line("kernel: no stop: process %u has not freed the page at %lx", (uint32_t)space->id,
                         (unsigned long)(va + i * PAGE_SIZE));
                sending->error = -EBUSY;
            } else if (leaf[i] != 0 && (all || (leaf[i] & PAGING_SOFT_OWNING) != 0))
                entries[sending->message->count++] = (struct moved_entry){va + i * PAGE_SIZE, leaf[i]};
            if (sending->message->count == ENTRIES_MAX)
                send_entries(sending);
        }
    }
    send_entries(sending);
}

int evacuate_entries(uint32_t successor, bool prepare)
{
    static uint8_t buffer[MSG_MAX] __attribute__((aligned(16))); /* there is no turning back when it commits */
    struct sending sending = {
        .successor = successor, .prepare = prepare, .message = (struct msg_evacuate *)(void *)buffer};

    space_each(send_space, &sending);
    return sending.error;
}

/* --- discard or switch --- */

void evacuate_discard(void)
{
    pairs_free();
    evacuate_drop_staged(true);
}

struct switching {
    uint32_t from, to;
};

static void switch_space(struct space *space, void *context)
{
    const struct switching *s = context;

    slice_check();
    spin_lock(&space->lock);
    space->members &= ~(1ull << s->from);
    if (space->home == s->from)
        space->home = s->to;
    lease_forget_locked(space, s->from);
    sharers_forget(&space->sharers, 1ull << s->from);
    owners_forget(&space->owners, s->from); /* their copies are mapped by now */
    spin_unlock(&space->lock);
}

void evacuate_switch(uint32_t from, uint32_t to)
{
    struct switching s = {from, to};

    space_each(switch_space, &s);
    evacuate_drop_staged(false);
    pairs_free();
}

struct audit {
    uint32_t kernel;
    uint64_t found;
};

static void audit_space(struct space *space, void *context)
{
    struct audit *audit = context;
    const uint64_t *leaf;

    slice_check();
    for (uint64_t va = 0; (leaf = paging_next_leaf_look(&space->tables, &va, USER_END)) != NULL; va += LEAF_SIZE) {
        slice_check();
        for (uint32_t i = 0; i < LEAF_ENTRIES; i++) {
            if (leaf[i] != 0 && frame_owner(leaf[i] & PAGING_FRAME) == audit->kernel)
                audit->found++;
        }
    }
    if (space->home == audit->kernel || (space->members >> audit->kernel & 1) != 0)
        audit->found++;
}

static void audit_file(uint64_t frame, void *context)
{
    struct audit *audit = context;

    audit->found += frame_owner(frame) == audit->kernel;
}

uint64_t evacuate_audit(uint32_t kernel)
{
    struct audit audit = {.kernel = kernel};
    struct object_place place = {0};

    space_each(audit_space, &audit);
    while (file_objects_some(&place, audit_file, &audit))
        slice_check();
    return audit.found;
}
