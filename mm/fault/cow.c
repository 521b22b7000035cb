/* Copy-on-write. After a fork, several spaces have the frame of a private page, and no kernel maps it writable
 * (PAGING_SOFT_COW). On a write, the kernel of the writing thread asks the frame's owner whether other spaces still
 * refer to it. If not, the kernel makes its entry writable. Otherwise it copies the frame and has every other kernel of
 * the space invalidate its entry for the old frame, before the copy is mapped anywhere. See mm/fork/fork.md. */
#include "mm/fault/cow.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/window.h"
#include "kernel/lib/list.h"
#include "kernel/lib/panic.h"
#include "mm/fault/wire.h"
#include "mm/frame/abroad.h"
#include "mm/frame/content.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"
#include "mm/frame/reference.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/page/install.h"
#include "mm/page/replica.h"
#include "mm/retrieve/wire.h"
#include "mm/space/entry.h"
#include "mm/space/question.h"
#include "msg/channel.h"
#include "msg/request/call.h"

int space_cow_alone_locked(struct space *space, uint64_t page, uint64_t *entry, uint32_t prot)
{
    uint64_t old = *entry & PAGING_FRAME;
    bool replicated = (*entry & PAGING_SOFT_REPLICATED) != 0;
    uint64_t new;
    bool elsewhere;

    if ((*entry & (PAGING_SOFT_REMOTE | PAGING_SOFT_OWNING)) != PAGING_SOFT_OWNING)
        return 1;
    if (frame_spaces(old) == 1) {
        *entry = space_entry_own(old, prot, false, 0);
        space->stats.cow_upgrades++;
        space->stats.collapses += replicated;
        return 0; /* no flush: a CPU with the read-only entry in its TLB faults once more and finds the new one */
    }
    new = mempolicy_frame_here_locked(space, prot, page, false, &elsewhere);
    if (new == 0)
        return elsewhere ? 1 : -ENOMEM;
    frame_copy(new, old);
    frame_share(new);
    *entry = space_entry_own(new, prot, false, 0);
    space_flush(space, page, page + PAGE_SIZE);
    frame_release(old);
    space->stats.cow_copies++;
    space->stats.collapses += replicated;
    return 0;
}

/* Replaces this kernel's entry for PAGE, if there is a table, by a borrowed one for FRAME, or by an empty one if FRAME
 * is 0; the caller has dropped copies, and flushes. True: the old entry, *OLD, was owning. */
static bool replace_locked(struct space *space, uint64_t page, uint64_t frame, uint64_t *old)
{
    const struct area *area = area_find(&space->areas, page);
    uint64_t *entry = paging_entry(&space->tables, page, false);
    bool owned;

    if (entry == NULL || (*entry & PAGING_SOFT_PENDING_FREE) != 0)
        return false;
    *old = *entry;
    owned = (*old & PAGING_SOFT_OWNING) != 0;
    if (frame == 0 || area == NULL)
        *entry = 0;
    else
        *entry = space_entry(space, page, frame, area->prot, false, false, 0);
    space_hold_pages_locked(space, owned ? -1 : 0);
    return owned;
}

/* Empties this kernel's entry for PAGE. True: it was owning, and its reference is the caller's now. */
static bool empty_page(struct space *space, uint64_t page)
{
    uint64_t old;
    bool owned;

    spin_lock(&space->lock);
    replicas_drop_locked(space, page, page + PAGE_SIZE);
    owned = replace_locked(space, page, 0, &old);
    space_flush(space, page, page + PAGE_SIZE);
    spin_unlock(&space->lock);
    return owned;
}

/* The end of PAGES from PAGE on. */
static uint64_t end_of(uint64_t page, uint64_t pages)
{
    return page + (SPACE_SWITCH_MAX - (uint64_t)__builtin_clzll(pages)) * PAGE_SIZE;
}

/* Replaces the entries for PAGES from PAGE on, at least one, for another kernel. Returns those that were owning: their
 * references become the other kernel's with the answer. With a FRAME, no other kernel of the space maps the old frame
 * any more, and the reference to one of this kernel's own is dropped here. */
static uint64_t switch_for_peer(struct space *space, uint64_t page, uint64_t pages, uint64_t frame)
{
    uint64_t end = end_of(page, pages), owned = 0, dropped = 0;

    spin_lock(&space->lock);
    replicas_drop_locked(space, page, end);
    for (uint64_t left = pages; left != 0; left &= left - 1) {
        uint64_t old;

        if (!replace_locked(space, page + (uint64_t)__builtin_ctzll(left) * PAGE_SIZE, frame, &old))
            continue;
        if ((old & PAGING_SOFT_REMOTE) == 0 && frame != 0) {
            dropped = old & PAGING_FRAME; /* the only one: a FRAME is for one page */
            continue;
        }
        if ((old & PAGING_SOFT_REMOTE) == 0)
            abroad_add(old & PAGING_FRAME);
        owned |= left & -left;
    }
    space_flush(space, page, end);
    if (dropped != 0)
        frame_release(dropped);
    spin_unlock(&space->lock);
    return owned;
}

void space_note_owned(void *context, uint32_t kernel, const void *reply, int length)
{
    const struct msg_space_owned *answer = reply;
    struct letting_go *letting = context;

    (void)kernel;
    if (length != (int)sizeof(*answer))
        letting->error = length < 0 ? length : -EPROTO;
    else
        letting->owned |= answer->owned;
}

/* Another kernel had no memory to invalidate its entry: maps FRAME at PAGE again, COW. OWNED: an entry that is
 * invalidated already was the owning one, so this one becomes it. FLAGS: PAGING_SOFT_REPLICATED, as others may still
 * have copies, or 0. */
static void take_back(struct space *space, uint64_t page, uint64_t frame, bool owned, uint64_t flags)
{
    uint64_t *entry;

    spin_lock(&space->lock);
    entry = paging_entry(&space->tables, page, false);
    *entry = space_entry(space, page, frame, area_find(&space->areas, page)->prot, true, owned, flags);
    space_hold_pages_locked(space, owned ? 1 : 0);
    spin_unlock(&space->lock);
}

/* No other space has FRAME: makes this kernel's entry writable. Other kernels do the same when they fault. */
static int upgrade(struct space *space, uint64_t page, uint64_t frame)
{
    const struct area *area;
    uint64_t *entry;

    spin_lock(&space->lock);
    area = area_find(&space->areas, page);
    entry = paging_entry(&space->tables, page, true);
    if (area != NULL && entry != NULL) {
        *entry = space_entry(space, page, frame, area->prot, false, (*entry & PAGING_SOFT_OWNING) != 0, 0);
        space->stats.cow_upgrades++;
    }
    spin_unlock(&space->lock);
    return area != NULL && entry != NULL ? 0 : -ENOMEM;
}

/* Makes the page's table on this kernel, so that nothing can fail once other kernels have invalidated their entries. */
static bool room_for(struct space *space, uint64_t page)
{
    bool room;

    spin_lock(&space->lock);
    room = paging_entry(&space->tables, page, true) != NULL;
    spin_unlock(&space->lock);
    return room;
}

/* Returns a copy of FRAME, or 0. No thread writes to FRAME meanwhile: all entries for it, in all spaces, are COW. */
static uint64_t copy_of(struct space *space, uint64_t page, uint64_t frame)
{
    const struct area *area;
    uint32_t prot;

    spin_lock(&space->lock);
    area = area_find(&space->areas, page);
    prot = area != NULL ? area->prot : 0;
    spin_unlock(&space->lock);
    return mempolicy_frame(space, prot, page, frame);
}

/* The home writes to a replicated page, whose FRAME is its own and no other space's: all OTHERS let it go, and it
 * stays.
 */
static int collapse_here(struct space *space, uint64_t page, uint64_t frame, kernel_set others)
{
    struct msg_space_switch message = {.space = space->id, .page = page, .pages = 1};
    struct letting_go letting = {0};

    space_gets_await(space, (struct space_range){page, page + PAGE_SIZE});
    msg_multicast(others, MSG_SPACE_SWITCH, &message, sizeof(message), space_note_owned, &letting, "copies of a page",
                  page);
    return letting.error != 0 ? letting.error : upgrade(space, page, frame);
}

int space_cow_break(struct space *space, uint64_t page, uint64_t frame, kernel_set others, uint32_t spaces,
                    bool replicated)
{
    struct msg_space_switch message = {.space = space->id, .page = page, .pages = 1};
    struct letting_go letting = {0};
    uint64_t new;
    bool owned;

    if (!replicated && (spaces != 0 ? spaces == 1 : frame_is_sole(frame))) /* and stays so: a fork needs the whole-space
                                                                              lock, while this task has the page's */
        return upgrade(space, page, frame);
    if (replicated && space->home == instance.kernel && window_owns(frame, PAGE_SIZE) && frame_spaces(frame) == 1)
        return collapse_here(space, page, frame, others);
    new = room_for(space, page) ? copy_of(space, page, frame) : 0;
    if (new == 0)
        return -ENOMEM;
    space_gets_await(space, (struct space_range){page, page + PAGE_SIZE});
    owned = empty_page(space, page);
    if (space->retrieval->home_knows)
        others &= ~(1ull << space->home);
    msg_multicast(others, MSG_SPACE_SWITCH, &message, sizeof(message), space_note_owned, &letting, "copy of a page",
                  page);
    if (letting.error == 0 && space->retrieval->home_knows && space->home != instance.kernel) {
        /* Only the home still maps the old frame. When it has switched, other kernels may fetch the new one from it. */
        struct msg_space_owned answer;
        int length;

        message.frame = new;
        length = msg_call(space->home, MSG_SPACE_SWITCH, &message, sizeof(message), &answer, sizeof(answer),
                          "copy of a page", page);
        space_note_owned(&letting, space->home, &answer, length);
    }
    if (letting.owned != 0 &&
        !owned) /* the reference has come with the peer's answer; a peer may lie about this kernel's */
        owned = !window_owns(frame, PAGE_SIZE) || abroad_take(frame);
    if (letting.error != 0) {
        take_back(space, page, frame, owned, replicated ? PAGING_SOFT_REPLICATED : 0);
        space_drop_new(new);
        return letting.error;
    }
    if (space_install(space, page, new, true, false) != 0)
        panic("mm: no room for the copy of page %lx", (unsigned long)page);
    if (owned)
        release_one(frame);
    spin_lock(&space->lock);
    space->stats.cow_copies++;
    spin_unlock(&space->lock);
    return 0;
}

/* A SPACE_SWITCH that is deferred until answers to faults have arrived. */
struct deferred_switch {
    struct space_deferred deferred;
    struct msg_kept kept;
    struct space *space; /* exists until the answer: the requester, a thread of it or a task that pins it, waits */
    uint64_t pages, frame;
};

static void deferred_free(struct msg_kept *kept)
{
    struct deferred_switch *late = container_of(kept, struct deferred_switch, kept);

    heap_free(late, sizeof(*late));
}

static void run_deferred(struct space_deferred *deferred)
{
    struct deferred_switch *late = container_of(deferred, struct deferred_switch, deferred);
    struct msg_space_owned answer = {.owned = switch_for_peer(late->space, deferred->start, late->pages, late->frame)};

    msg_kept_reply(&late->kept, &answer, sizeof(answer), deferred_free);
}

/* 0: the pages may be switched now. 1: they are switched and M answered when the faults under way have their answers.
 * -ENOMEM. */
static int defer_switch(struct space *space, const struct msg *m)
{
    const struct msg_space_switch *message = m->data;
    uint64_t page = message->page & ~(PAGE_SIZE - 1);
    struct deferred_switch *late;
    bool deferred;

    if (list_empty(&space->gets)) /* without space->lock: a question that begins now finds the pages locked */
        return 0;
    late = heap_alloc(sizeof(*late));
    if (late == NULL)
        return -ENOMEM;
    late->deferred = (struct space_deferred){.start = page, .end = end_of(page, message->pages), .run = run_deferred};
    late->space = space;
    late->pages = message->pages;
    late->frame = message->frame & PAGING_FRAME;
    spin_lock(&space->lock);
    deferred = space_defer_locked(space, &late->deferred);
    if (deferred)
        msg_keep(m, &late->kept, NULL);
    spin_unlock(&space->lock);
    if (!deferred)
        heap_free(late, sizeof(*late));
    return deferred ? 1 : 0;
}

/* A page gets another frame, or pages get none. */
static bool is_valid(const struct msg_space_switch *message)
{
    return message->page < USER_END && message->pages != 0 &&
           end_of(message->page & ~(PAGE_SIZE - 1), message->pages) <= USER_END &&
           (message->frame == 0 || (message->pages == 1 && frame_exists(message->frame)));
}

static void handle_switch(const struct msg *m)
{
    const struct msg_space_switch *message = m->data;
    struct space *space = space_get(message->space);
    struct msg_space_owned answer = {0};
    int deferred = space == NULL ? 0 : is_valid(message) ? defer_switch(space, m) : -EPROTO;

    if (deferred != 0) {
        space_put(space);
        if (deferred < 0)
            msg_reply_error(&m->ticket, deferred);
        return;
    }
    if (space != NULL) {
        answer.owned = switch_for_peer(space, message->page & ~(PAGE_SIZE - 1), message->pages,
                                       message->frame & PAGING_FRAME);
        space_put(space);
    }
    msg_reply(&m->ticket, &answer, sizeof(answer));
}

void space_cow_init(void)
{
    msg_register(MSG_SPACE_SWITCH, handle_switch, sizeof(struct msg_space_switch), sizeof(struct msg_space_owned));
}
