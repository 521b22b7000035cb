/* Fork: entering in the child the pages that this kernel and the other members own. */
#include "kernel/abi/errno.h"
#include "kernel/lib/list.h"
#include "mm/fork/internal.h"
#include "mm/fork/wire.h"
#include "mm/frame/frame.h"
#include "mm/frame/reference.h"
#include "mm/space/entry.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "msg/slice.h"

#define PAIRS_A_LOOK 64u /* pairs that are entered between two looks whether the slice is over */

static const struct area *child_area(struct fork *fork, uint64_t page)
{
    if (fork->area == NULL || page < fork->area->start || page >= fork->area->end)
        fork->area = area_find(&fork->child->areas, page);
    return fork->area;
}

/* Drops the references counted for pairs that were not entered in the child; a frame of 0 has none. */
static void give_back(const struct msg_space_pair *pairs, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        if (pairs[i].frame != 0)
            release_one(pairs[i].frame);
    }
}

/* Counts the child's references to the frames of pairs whose owner is in OWNERS. The owner is in the low bits of the
 * pair's page. If an owner fails, the frames of its pairs become 0. */
static int count_at_owners(struct fork *fork, struct msg_space_pair *pairs, uint64_t count, kernel_set owners)
{
    int result = 0;

    for (; owners != 0; owners &= owners - 1) {
        uint32_t owner = (uint32_t)__builtin_ctzll(owners);
        uint32_t found = 0;
        int error;

        for (uint64_t i = 0; i < count; i++) {
            if ((pairs[i].page & (PAGE_SIZE - 1)) == owner)
                fork->frames[found++] = pairs[i].frame;
        }
        error = share_frames(owner, fork->frames, found);
        if (error == 0)
            continue;
        result = error;
        for (uint64_t i = 0; i < count; i++) {
            if ((pairs[i].page & (PAGE_SIZE - 1)) == owner)
                pairs[i].frame = 0;
        }
    }
    return result;
}

/* Enters in the child the pages that KERNEL owns. KERNEL, unless it is this kernel, has counted the child's references
 * to its own frames; those to all other frames are counted here. */
static int adopt(struct fork *fork, uint32_t kernel, struct msg_space_pair *pairs, uint64_t count)
{
    kernel_set owners = 0;
    int error = 0, counted;
    uint64_t i;

    for (i = 0; i < count; i++) {
        uint32_t owner = frame_owner(pairs[i].frame);

        if (i % PAIRS_A_LOOK == 0)
            slice_check();
        if (owner == KERNELS_MAX || (pairs[i].page & (PAGE_SIZE - 1)) != 0 || pairs[i].page >= USER_END ||
            (owner == instance.kernel && frame_spaces(pairs[i].frame) == 0)) {
            error = -EPROTO;
            pairs[i].frame = 0;
            continue;
        }
        pairs[i].page |= owner;
        if (owner == instance.kernel)
            frame_share(pairs[i].frame);
        else if (owner != kernel)
            owners |= 1ull << owner;
    }
    counted = count_at_owners(fork, pairs, count, owners);
    if (error == 0)
        error = counted;
    for (i = 0; i < count && error == 0; i++) {
        const struct area *area = child_area(fork, pairs[i].page);
        uint64_t *entry;

        if (i % PAIRS_A_LOOK == 0)
            slice_check();
        entry = area != NULL ? fork_child_entry(fork, pairs[i].page) : NULL;

        if (entry == NULL || *entry != 0) {
            error = entry == NULL && area != NULL ? -ENOMEM : -EPROTO;
            break;
        }
        *entry = space_entry(fork->child, pairs[i].page, pairs[i].frame, area->prot, (area->prot & AREA_SHARED) == 0,
                             true, 0);
        space_hold_pages_locked(fork->child, 1); /* without the lock: the child is not published yet */
    }
    if (error != 0)
        give_back(pairs + i, count - i);
    return error;
}

/* Copies [START, END) of LEAF, a table of the parent on this kernel: private pages become COW, and owning entries are
 * copied to the child. Pages with frames of other kernels are only listed in fork->buffer, *PAIRS of them so far, for
 * the caller. */
static int copy_leaf_locked(struct fork *fork, uint64_t *leaf, uint64_t start, uint64_t end, bool shared,
                            uint64_t *pairs)
{
    uint32_t last = paging_index(end - 1) + 1;
    struct msg_space_pair *pair;
    uint64_t *child = NULL;
    uint64_t first = 0, next = 0; /* frames in a row that the child has, and that are not counted yet */
    int64_t copied = 0;
    int error = 0;

    for (uint32_t i = paging_index(start); (i = paging_next_used(leaf, i, last)) < last; i++) {
        uint64_t page = (start & ~(LEAF_SIZE - 1)) + i * PAGE_SIZE;
        uint64_t entry = leaf[i];

        if ((entry & PAGING_SOFT_PENDING_FREE) != 0)
            continue;
        if (!shared)
            leaf[i] = entry = (entry & ~PAGING_WRITE) | PAGING_SOFT_COW;
        if (__builtin_expect((entry & (PAGING_SOFT_OWNING | PAGING_SOFT_REMOTE)) != PAGING_SOFT_OWNING, 0)) {
            if ((entry & PAGING_SOFT_OWNING) == 0)
                continue;
            if (!fork_buffers(fork)) {
                error = -ENOMEM;
                break;
            }
            pair = (struct msg_space_pair *)(void *)fork->buffer;
            pair[(*pairs)++] = (struct msg_space_pair){page, entry & PAGING_FRAME};
            continue;
        }
        if (child == NULL) {
            if (fork_child_entry(fork, page) == NULL) {
                error = -ENOMEM;
                break;
            }
            child = fork->leaf;
        }
        if ((entry & PAGING_FRAME) != next) {
            if (next > first)
                frame_share_run(first, (next - first) / PAGE_SIZE);
            first = next = entry & PAGING_FRAME;
        }
        next += PAGE_SIZE;
        child[i] = space_entry_shown(entry) &
                   ~(PAGING_ACCESSED | PAGING_DIRTY | PAGING_SOFT_MARKED | PAGING_SOFT_REPLICATED);
        copied++;
    }
    if (next > first)
        frame_share_run(first, (next - first) / PAGE_SIZE);
    space_hold_pages_locked(fork->child, copied);
    return error;
}

/* Releases parent->lock after each table, so that the copying goes in slices; the whole-space lock keeps the entries as
 * they are. Walks the child's areas, not the parent's, because a map may merge areas of the parent meanwhile and free
 * one. */
int fork_copy_own(struct fork *fork)
{
    struct space *parent = fork->parent;
    uint64_t pairs = 0;
    int error = 0;

    list_for_each(node, &fork->child->areas.head) {
        const struct area *area = container_of(node, const struct area, node);
        bool more = (area->prot & AREA_NOT_COPIED) == 0;

        for (uint64_t va = area->start; more && error == 0; va += LEAF_SIZE) {
            uint64_t *leaf;

            spin_lock(&parent->lock);
            parent->taken++;
            leaf = paging_next_leaf(&parent->tables, &va, area->end);
            more = leaf != NULL;
            if (more)
                error = copy_leaf_locked(fork, leaf, va > area->start ? va : area->start,
                                         va + LEAF_SIZE < area->end ? va + LEAF_SIZE : area->end,
                                         (area->prot & AREA_SHARED) != 0, &pairs);
            spin_unlock(&parent->lock);
            if (error == 0 && pairs > PAIRS_MAX - LEAF_ENTRIES) {
                error = adopt(fork, instance.kernel, (struct msg_space_pair *)(void *)fork->buffer, pairs);
                pairs = 0;
            }
            slice_check();
        }
    }
    if (error == 0 && pairs > 0)
        error = adopt(fork, instance.kernel, (struct msg_space_pair *)(void *)fork->buffer, pairs);
    return error;
}

/* Asks KERNEL for the pages that it owns, up to some thousand per message. */
int fork_take_from(struct fork *fork, uint32_t kernel)
{
    struct msg_space_page ask = {.space = fork->parent->id};
    struct msg_space_taken *answer;
    int error;

    if (!fork_buffers(fork))
        return -ENOMEM;
    answer = (struct msg_space_taken *)(void *)fork->buffer;
    do {
        int length = msg_call(kernel, MSG_SPACE_TAKE, &ask, sizeof(ask), fork->buffer, MSG_MAX, "pages for a fork",
                              ask.page);
        uint64_t next;

        if (length < 0)
            return length;
        next = answer->next;
        error = adopt(fork, kernel, (struct msg_space_pair *)(answer + 1),
                      ((size_t)length - sizeof(*answer)) / sizeof(struct msg_space_pair));
        if (error == 0 && next != 0 && next <= ask.page)
            error = -EPROTO;
        ask.page = next;
    } while (error == 0 && ask.page != 0);
    return error;
}
