/* What an address space has, for those who look from outside (/proc). */
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/base/layout.h"
#include "kernel/instance/instance.h"
#include "mm/lease/lease.h"
#include "mm/space/internal.h"
#include "mm/space/space.h"

struct looking {
    struct completion done;
    struct space *space;
    struct msg_space_areas *head;
    uint64_t from;
    int length;
};

static void looked(void *context, int error)
{
    struct looking *looking = context;

    looking->length = error != 0 ? error : (int)space_list_areas(looking->space, looking->from, looking->head);
    completion_signal(&looking->done);
}

/* Who waits has no reference of its own: the end of the space waits for those without letting tasks run. */
static int areas_here(struct space *space, uint64_t from, struct msg_space_areas *head)
{
    struct wait_reason reason = {.what = "recall of a lease", .kernel = -1, .key = from};
    struct looking looking = {.space = space, .head = head, .from = from};
    struct lease_wait *start;
    int waits;

    completion_init(&looking.done);
    spin_lock(&space->lock);
    reason.kernel = lease_holder_locked(space, (struct space_range){from, USER_END});
    waits = lease_wait_locked(space, (struct space_range){from, USER_END}, looked, &looking, &start);
    spin_unlock(&space->lock);
    if (waits == 0)
        looked(&looking, 0);
    space_put(space);
    lease_recall(start);
    if (waits < 0)
        return waits;
    completion_wait(&looking.done, &reason);
    return looking.length;
}

int space_areas_of(uint64_t id, uint32_t home, uint64_t from, struct msg_space_areas *head)
{
    struct msg_space_page ask = {.space = id, .page = from};
    struct space *space;
    int length;

    if (home != instance.kernel) {
        length = msg_call(home, MSG_SPACE_AREAS, &ask, sizeof(ask), head, MSG_MAX, "areas of a process", id);
        return length >= 0 && length < (int)sizeof(*head) ? -EPROTO : length;
    }
    space = space_get(id);
    if (space == NULL)
        return -ESRCH;
    return areas_here(space, from, head);
}

/* One entry in the machine holds a space's reference to a frame, so no page is counted twice. The lock is free between
 * tables, so that messages about the space are not held up for long. */
void space_count_pages(struct space *space, struct space_pages *out)
{
    *out = (struct space_pages){0};

    for (uint64_t va = 0;; va += LEAF_SIZE) {
        const uint64_t *leaf;
        uint64_t large;

        spin_lock(&space->lock);
        leaf = paging_next_leaf_look(&space->tables, &va, USER_END);
        large = leaf != NULL ? paging_large(&space->tables, va) : 0;
        for (uint32_t i = 0; leaf != NULL && i < LEAF_ENTRIES; i++) {
            out->held += (leaf[i] & PAGING_SOFT_HELD) != 0;
            out->prefetch_used += space_prefetch_used(leaf[i] | (large & PAGING_ACCESSED));
        }
        out->huge += large != 0;
        spin_unlock(&space->lock);
        if (leaf == NULL)
            return;
    }
}
