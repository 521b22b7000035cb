/* Evacuation of a kernel's memory, the receiving side: the successor copies frames and stages spaces, homes take over
 * entries, and every kernel maps the copies. See mm/evacuate/evacuate.h. */
#include "kernel/abi/errno.h"
#include "kernel/instance/window.h"
#include "kernel/lib/list.h"
#include "kernel/lib/log.h"
#include "kernel/lib/string.h"
#include "mm/area/backing.h"
#include "mm/evacuate/evacuate.h"
#include "mm/evacuate/internal.h"
#include "mm/file/hold.h"
#include "mm/file/object.h"
#include "mm/frame/abroad.h"
#include "mm/frame/content.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"
#include "mm/frame/reference.h"
#include "mm/life/life.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/page/replica.h"
#include "mm/retrieve/strategy.h"
#include "mm/space/entry.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/channel.h"
#include "msg/request/long_answer.h"
#include "msg/slice.h"

/* The copies made for one message, until the switch. */
struct copies {
    struct copies *next;
    uint32_t count;
    uint64_t frames[FRAMES_MAX];
    uint32_t spaces[FRAMES_MAX];
};

struct staged_space {
    struct staged_space *next;
    struct space *space;
    bool fresh; /* created for the evacuation and not published yet */
    struct space_facts facts;
    struct area_list areas;
    struct sharers sharers; /* the directory, if this kernel becomes the home */
};

/* [k] rx_lock, under which handlers run; the steps of a stop that free them run one after the other */
static struct copies *all_copies;
static struct staged_space *all_staged;

/* --- frames --- */

static void copies_undo(struct copies *copies)
{
    for (uint32_t i = 0; i < copies->count; i++) {
        for (uint32_t n = 0; n < copies->spaces[i]; n++)
            frame_release(copies->frames[i]);
    }
    copies->count = 0;
}

static int copies_make(struct copies *copies, const struct shared_frame *frames, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t copy = frame_owner(frames[i].frame) < KERNELS_MAX ? frame_alloc(0) : 0;

        if (copy == 0) {
            copies_undo(copies);
            return -ENOMEM;
        }
        frame_copy(copy, frames[i].frame);
        for (uint64_t n = 0; n < frames[i].spaces; n++)
            frame_share(copy);
        abroad_set(copy, ABROAD_UNKNOWN); /* all kernels may have some, or none of them */
        copies->frames[i] = copy;
        copies->spaces[i] = (uint32_t)frames[i].spaces;
        copies->count = i + 1;
    }
    return 0;
}

static void handle_frames(const struct msg *m)
{
    const struct msg_evacuate *message = m->data;
    const struct shared_frame *frames = (const struct shared_frame *)(const void *)(message + 1);
    struct long_answer *answer;
    struct copies *copies;
    int error = -ENOMEM;

    if (message->count > FRAMES_MAX || m->length != sizeof(*message) + message->count * sizeof(*frames)) {
        msg_reply_error(&m->ticket, -EPROTO);
        return;
    }
    copies = heap_alloc(sizeof(*copies));
    answer = long_answer_create((uint32_t)(sizeof(*answer) + sizeof(copies->frames)));
    if (copies != NULL && answer != NULL)
        error = copies_make(copies, frames, message->count);
    if (error != 0) {
        heap_free(copies, sizeof(*copies));
        long_answer_free(answer);
        msg_reply_error(&m->ticket, error);
        return;
    }
    copies->next = all_copies;
    all_copies = copies;
    memcpy(answer + 1, copies->frames, sizeof(copies->frames));
    long_answer_send(m, answer, answer + 1, copies->count * (uint32_t)sizeof(copies->frames[0]));
}

static void handle_pairs(const struct msg *m)
{
    const struct msg_evacuate *message = m->data;
    int error;

    if (message->count > PAIRS_MAX || m->length != sizeof(*message) + message->count * sizeof(struct frame_pair)) {
        msg_reply_error(&m->ticket, -EPROTO);
        return;
    }
    error = evacuate_keep_pairs((const struct frame_pair *)(const void *)(message + 1), message->count, message->at,
                                message->total);
    if (error != 0)
        msg_reply_error(&m->ticket, error);
    else
        msg_reply(&m->ticket, NULL, 0);
}

/* --- spaces --- */

static struct staged_space *staged_find(uint64_t id)
{
    struct staged_space *staged = all_staged;

    while (staged != NULL && staged->space->id != id)
        staged = staged->next;
    return staged;
}

int evacuate_stage(uint64_t id, const struct space_facts *facts, struct space **space)
{
    struct staged_space *staged = heap_alloc(sizeof(*staged));

    if (staged == NULL)
        return -ENOMEM;
    staged->facts = *facts;
    area_list_init(&staged->areas);
    staged->space = space_get(id);
    if (staged->space != NULL) {
        space_put(staged->space); /* it stays without the reference: programs are quiesced */
    } else {
        staged->space = space_create(id, facts->home);
        staged->fresh = true;
    }
    if (staged->space == NULL) {
        heap_free(staged, sizeof(*staged));
        return -ENOMEM;
    }
    staged->next = all_staged;
    all_staged = staged;
    *space = staged->space;
    return 0;
}

int evacuate_stage_areas(uint64_t id, const struct msg_space_area *areas, uint32_t count)
{
    struct staged_space *staged = staged_find(id);
    int error = staged == NULL ? -EPROTO : 0;

    for (uint32_t i = 0; i < count && error == 0; i++) {
        if (backing_is_file(areas[i].backing))
            error = file_hold_begin(areas[i].backing, true);
        if (error != 0)
            break;
        error = area_append_backed(&staged->areas, areas[i].start, areas[i].end, (uint32_t)areas[i].prot,
                                   areas[i].backing);
        if (error != 0 && backing_is_file(areas[i].backing))
            file_hold_end(areas[i].backing);
    }
    return error;
}

int evacuate_stage_marks(uint64_t id, const struct sharers_range *ranges, uint32_t count)
{
    struct staged_space *staged = staged_find(id);

    for (uint32_t i = 0; i < count && staged != NULL; i++)
        sharers_mark(&staged->sharers, ranges[i].start, ranges[i].end, ranges[i].sharers);
    return staged == NULL ? -EPROTO : 0;
}

int evacuate_stage_policy(uint64_t id, uint64_t number, const struct policy *policy)
{
    struct staged_space *staged = staged_find(id);

    /* at once: the policy is also right if the stop is given up */
    return staged == NULL || number == 0 || number > POLICY_MAX
               ? -EPROTO
               : mempolicy_note(staged->space, (uint32_t)number, policy);
}

/* Ends the hold that evacuate_stage_areas has begun for each area of LIST: by now the areas hold their objects
 * themselves, or they are about to be dropped. */
static void end_holds(const struct area_list *list)
{
    list_for_each(node, &list->head) {
        const struct area *area = container_of(node, const struct area, node);

        if (backing_is_file(area->backing))
            file_hold_end(area->backing);
    }
}

static void commit_space(struct staged_space *staged)
{
    struct space *space = staged->space;

    spin_lock(&space->lock);
    space->home = staged->facts.home;
    if (staged->facts.complete != 0) {
        if (space->home == instance.kernel && !space->areas.refers) {
            area_list_clear(&space->areas);
            area_list_refers(&space->areas);
        }
        area_list_move(&space->areas, &staged->areas);
        end_holds(&space->areas);
        space->members = staged->facts.members | 1ull << instance.kernel;
        sharers_end(&space->sharers);
        space->sharers = staged->sharers;
        staged->sharers = (struct sharers){0};
        sharers_mark_all(&space->sharers, staged->facts.marked);
        sharers_forget(&space->sharers, 1ull << instance.kernel);
        space->break_start = staged->facts.break_start;
        space->break_now = staged->facts.break_now;
        space->later = (uint32_t)staged->facts.later;
    }
    spin_unlock(&space->lock);
    space_mode_note(space, staged->facts.mode);
    if (staged->fresh)
        space_publish(space);
    staged->fresh = false;
}

void evacuate_commit(void)
{
    for (struct staged_space *staged = all_staged; staged != NULL; staged = staged->next) {
        commit_space(staged);
        slice_check();
    }
}

void evacuate_drop_staged(bool undo)
{
    while (all_copies != NULL) {
        struct copies *copies = all_copies;

        all_copies = copies->next;
        if (undo)
            copies_undo(copies);
        heap_free(copies, sizeof(*copies));
        slice_check();
    }
    while (all_staged != NULL) {
        struct staged_space *staged = all_staged;

        all_staged = staged->next;
        end_holds(&staged->areas);
        area_list_clear(&staged->areas);
        sharers_end(&staged->sharers);
        if (staged->fresh)
            space_destroy(staged->space);
        heap_free(staged, sizeof(*staged));
        slice_check();
    }
}

/* --- entries --- */

/* Whether take_one can take MOVED where ENTRY is now, in a space that has AREAS by then. A change that ran out of
 * memory may have left what cannot be moved: an entry here without an area at the home, or another frame there. */
static bool can_take(const struct area_list *areas, uint64_t entry, const struct moved_entry *moved)
{
    uint64_t frame = moved->entry & PAGING_FRAME;
    bool held = (moved->entry & ~entry & PAGING_SOFT_OWNING) == 0;

    if (area_find(areas, moved->page) == NULL)
        return false;
    if (entry != 0 && (entry & PAGING_FRAME) != frame && !replica_is(entry))
        return false;
    return held || frame_owner(frame) != instance.kernel || abroad_count(frame) != 0;
}

/* Makes room for ENTRIES. -EBUSY: one of them cannot be taken. */
static int make_room(struct space *space, const struct area_list *areas, const struct moved_entry *entries,
                     uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t *entry = paging_entry(&space->tables, entries[i].page, true);

        if (entry == NULL)
            return -ENOMEM;
        if (!can_take(areas, *entry, &entries[i])) {
            log_line("kernel: no stop: process %u has the page at %lx elsewhere as %lx, and here as %lx",
                     (uint32_t)space->id, (unsigned long)entries[i].page, (unsigned long)entries[i].entry,
                     (unsigned long)*entry);
            return -EBUSY;
        }
    }
    return 0;
}

static int take_one(struct space *space, const struct moved_entry *moved)
{
    uint64_t *entry;

    replicas_drop_locked(space, moved->page, moved->page + PAGE_SIZE); /* the home has the page itself */
    entry = paging_entry(&space->tables, moved->page, false);
    if (entry == NULL || space_borrow_page_locked(space, moved->page, moved->entry & PAGING_FRAME,
                                                  (moved->entry & PAGING_SOFT_COW) != 0, 0) < 0)
        return -EPROTO;
    if ((*entry & PAGING_SOFT_COW) != 0) /* others keep their copies */
        *entry |= moved->entry & PAGING_SOFT_REPLICATED;
    if ((moved->entry & ~*entry & PAGING_SOFT_OWNING) == 0)
        return 0;
    if ((*entry & PAGING_SOFT_REMOTE) == 0 && !abroad_take(*entry & PAGING_FRAME))
        return -EPROTO; /* the kernel that stops has no reference to give */
    space_hold_pages_locked(space, 1);
    *entry |= PAGING_SOFT_OWNING;
    return 0;
}

static void handle_entries(const struct msg *m)
{
    const struct msg_evacuate *message = m->data;
    const struct moved_entry *entries = (const struct moved_entry *)(const void *)(message + 1);
    struct staged_space *staged;
    struct space *space;
    int error = 0;

    if (message->count > ENTRIES_MAX || m->length != sizeof(*message) + message->count * sizeof(*entries)) {
        msg_reply_error(&m->ticket, -EPROTO);
        return;
    }
    staged = staged_find(message->space);
    space = staged != NULL ? staged->space : space_get(message->space);
    if (space == NULL) {
        msg_reply_error(&m->ticket, -ESRCH);
        return;
    }
    spin_lock(&space->lock);
    if (message->prepare != 0)
        error = make_room(space, staged != NULL && staged->facts.complete != 0 ? &staged->areas : &space->areas,
                          entries, message->count);
    for (uint32_t i = 0; i < message->count && error == 0 && message->prepare == 0; i++)
        error = take_one(space, &entries[i]);
    spin_unlock(&space->lock);
    if (staged == NULL)
        space_put(space);
    if (error != 0)
        msg_reply_error(&m->ticket, error);
    else
        msg_reply(&m->ticket, NULL, 0);
}

void evacuate_init(void)
{
    msg_register(MSG_EVACUATE_FRAMES, handle_frames, sizeof(struct msg_evacuate), 0);
    msg_register(MSG_EVACUATE_PAIRS, handle_pairs, sizeof(struct msg_evacuate), 0);
    msg_register(MSG_EVACUATE_ENTRIES, handle_entries, sizeof(struct msg_evacuate), 0);
}
