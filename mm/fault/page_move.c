/* Moves pages to another node while programs run. Under the page's lock, every kernel of the space invalidates its
 * entry for the old frame, so that no thread writes to it; then it is copied, and the copy is mapped in its place. A
 * thread that touches the page meanwhile waits for the lock. mm/mempolicy/mempolicy.md has the protocol; the messages
 * are those of a copy-on-write page (mm/fault/cow.c).
 *
 * Only a private page of one space is moved: futexes in shared memory are named by its frames (tasks/futex/futex.md),
 * and a file's frame belongs to the file. */
#include "mm/fault/page_move.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/window.h"
#include "kernel/lib/log.h"
#include "mm/area/backing.h"
#include "mm/fault/cow.h"
#include "mm/fault/wire.h"
#include "mm/frame/frame.h"
#include "mm/frame/reference.h"
#include "mm/lock/lock.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/page/question.h"
#include "mm/page/zero_page.h"
#include "mm/retrieve/wire.h"
#include "mm/space/entry.h"
#include "mm/space/wire.h"
#include "msg/call.h"
#include "msg/channel.h"

struct there {
    uint64_t frame, backing;
    uint32_t prot;
    bool cow;
};

/* The error for a page that was never touched, as on Linux: -EFAULT in private memory without a file, else -ENOENT. */
static int absent(uint32_t prot, uint64_t backing)
{
    return backing == BACKING_NONE && (prot & AREA_SHARED) == 0 ? -EFAULT : -ENOENT;
}

/* Finds what the space has at PAGE, on any kernel. The page is locked. */
static int find(struct space *space, uint64_t page, struct there *out)
{
    struct msg_space_mapping answer;
    const struct area *area;
    const uint64_t *entry;
    uint64_t here = 0;
    int error;

    spin_lock(&space->lock);
    area = area_find(&space->areas, page);
    entry = paging_look(&space->tables, page);
    if (area != NULL && entry != NULL)
        here = *entry;
    if (area != NULL)
        *out = (struct there){here & PAGING_FRAME, area_backing_at(area, page), area->prot,
                              (here & PAGING_SOFT_COW) != 0};
    spin_unlock(&space->lock);
    if (here != 0)
        return (here & PAGING_SOFT_PENDING_FREE) != 0 || zero_page_is(here) ? -EFAULT : 0;
    error = space->retrieval->fetch(space, page, &answer);
    if (error != 0 && answer.kind != SPACE_FRAME)
        return -ENOMEM;
    if (answer.kind == SPACE_AREA)
        return absent(answer.prot, answer.backing);
    if (answer.kind != SPACE_FRAME)
        return area != NULL ? absent(out->prot, out->backing) : -EFAULT;
    if (frame_owner(answer.frame) == KERNELS_MAX)
        return -EFAULT;
    *out = (struct there){answer.frame, answer.backing, answer.prot, answer.cow != 0};
    return 0;
}

static int lock_page(struct space *space, uint64_t page, struct space_lock *lock)
{
    struct space_range range = {page, page + PAGE_SIZE};
    int error = space_acquire(space, range, lock);

    if (error == 0)
        space_gets_await(space, range);
    return error;
}

int space_page_fetch_node(struct space *space, uint64_t address)
{
    uint64_t page = address & ~(PAGE_SIZE - 1);
    struct space_lock lock;
    struct there there;
    int error;

    if (address >= USER_END)
        return -EFAULT;
    error = lock_page(space, page, &lock);
    if (error != 0)
        return error;
    error = find(space, page, &there);
    space_release(space, &lock);
    return error != 0 ? error : (int)policy_node_of(there.frame);
}

/* The home, another kernel, is to map FRAME at PAGE, or nothing if FRAME is 0. LETTING gets its answer. The request
 * waits for a slot if none is free. The home never refuses for want of memory, as it has no questions about pages to
 * wait for (mm/page/question.h). */
static void notify_home(struct space *space, uint64_t page, uint64_t frame, struct letting_go *letting)
{
    static const struct msg_policy policy = {.end = WAIT_FIRM, .sure = true};
    struct msg_space_record message = {.space = space->id, .page = page, .frame = frame};
    struct msg_space_owned answer;
    int length = msg_call_within(&policy, space->home, MSG_SPACE_SWITCH, &message, sizeof(message), &answer,
                                 sizeof(answer), "move of a page", page);

    space_note_owned(letting, space->home, &answer, length);
}

/* Replaces this kernel's entry for PAGE by one for FRAME, OWNING or borrowed, or by an empty one if FRAME is 0. True:
 * the old entry was owning. */
static bool set_entry(struct space *space, uint64_t page, uint64_t frame, bool owning)
{
    const struct area *area;
    uint64_t *entry;
    bool before;

    spin_lock(&space->lock);
    area = area_find(&space->areas, page);
    entry = paging_entry(&space->tables, page, false);
    before = entry != NULL && (*entry & PAGING_SOFT_OWNING) != 0;
    if (entry != NULL)
        *entry = frame == 0 || area == NULL ? 0 : space_entry(frame, area->prot, false, owning, 0);
    space_hold_pages_locked(space, (entry != NULL && (*entry & PAGING_SOFT_OWNING) != 0) - (before ? 1 : 0));
    space_flush(space, page, page + PAGE_SIZE);
    spin_unlock(&space->lock);
    return before;
}

/* Makes the page's table and area on this kernel, so that nothing can fail later. */
static bool room_for(struct space *space, uint64_t page, const struct there *there)
{
    bool room;

    spin_lock(&space->lock);
    room = paging_entry(&space->tables, page, true) != NULL &&
           (area_find(&space->areas, page) != NULL ||
            area_set_backed(&space->areas, page, page + PAGE_SIZE, there->prot, there->backing) == 0);
    spin_unlock(&space->lock);
    return room;
}

/* Moves PAGE, which is locked and may be moved, to one of NODES. OTHERS may map it. Returns its node or a negative
 * errno. */
static int move(struct space *space, uint64_t page, const struct there *there, uint64_t nodes, kernel_set others)
{
    struct msg_space_record message = {.space = space->id, .page = page};
    bool directory = space->retrieval->home_knows && space->home != instance.kernel;
    struct letting_go letting = {0};
    uint64_t new = 0;

    if (!room_for(space, page, there))
        return -ENOMEM;
    letting.owned = set_entry(space, page, 0, false);
    if (directory)
        others &= ~(1ull << space->home);
    msg_multicast(others, MSG_SPACE_SWITCH, &message, sizeof(message), space_note_owned, &letting, "move of a page",
                  page);
    if (letting.error == 0 && directory)
        notify_home(space, page, 0, &letting);
    if (letting.error == 0) {
        new = policy_frame_on(nodes, there->frame); /* no kernel maps the old frame, so no thread writes to it */
        if (directory)
            notify_home(space, page, new != 0 ? new : there->frame, &letting);
        if (letting.error != 0) /* a home that works does not; as this one may map the new frame, that is lost */
            log_line("mm: kernel %u refuses to map page %lx, which has moved (error %d)", space->home,
                     (unsigned long)page, letting.error);
    }
    if (new == 0 || letting.error != 0) {
        set_entry(space, page, there->frame, letting.owned);
        return letting.error != 0 ? letting.error : -ENOMEM;
    }
    if (window_owns(new, PAGE_SIZE))
        frame_share(new);
    set_entry(space, page, new, true);
    if (letting.owned)
        release_one(there->frame);
    return (int)policy_node_of(new);
}

int space_page_move(struct space *space, uint64_t address, uint64_t nodes)
{
    uint64_t page = address & ~(PAGE_SIZE - 1);
    struct space_lock lock;
    struct there there;
    int result;

    if (address >= USER_END)
        return -EFAULT;
    result = lock_page(space, page, &lock);
    if (result != 0)
        return result;
    result = find(space, page, &there);
    if (result == 0 && (nodes >> policy_node_of(there.frame) & 1) != 0)
        result = (int)policy_node_of(there.frame);
    else if (result == 0 && ((there.prot & AREA_SHARED) != 0 || (there.backing != BACKING_NONE && there.cow)))
        result = -EBUSY;
    else if (result == 0 && there.cow && !frame_is_sole(there.frame))
        result = -EACCES;
    else if (result == 0)
        result = move(space, page, &there, nodes, space_lock_others(space, &lock));
    space_release(space, &lock);
    return result;
}
