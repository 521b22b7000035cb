/* The memory of a kernel that has died. See the header.
 *
 * Page tables are read without the space's lock: they are freed with the space only, and an entry is one word. Nobody
 * gets a frame of the dead kernel any more, but a space may get one from another space; so whoever calls this looks
 * again while programs are quiesced. */
#include "mm/evacuate/lost.h"

#include "mm/frame/reference.h"
#include "mm/lease/lease.h"
#include "mm/lock/lock.h"
#include "mm/space/entry.h"
#include "msg/slice.h"

/* Whether the table for VA may map frames of KERNEL. */
static bool has_frames(struct space *space, uint64_t va, uint32_t kernel)
{
    bool has;

    spin_lock(&space->lock);
    has = owners_has(&space->owners, va, kernel);
    spin_unlock(&space->lock);
    return has;
}

bool lost_frame_of(struct space *space, uint32_t kernel)
{
    const uint64_t *leaf;

    for (uint64_t va = 0; (leaf = paging_next_leaf_look(&space->tables, &va, USER_END)) != NULL; va += LEAF_SIZE) {
        bool has = has_frames(space, va, kernel);

        for (uint32_t i = 0; has && i < LEAF_ENTRIES; i++) {
            uint64_t entry = __atomic_load_n(&leaf[i], __ATOMIC_RELAXED);

            if (entry != 0 && frame_owner(entry & PAGING_FRAME) == kernel)
                return true;
        }
        slice_check();
    }
    return false;
}

bool lost_frames_known(const struct space *space)
{
    return space->retrieval->home_knows;
}

/* Takes the frames of KERNEL away that LEAF maps; VA: the first page of the table. -ENOMEM: some are left. */
static int take_frames_locked(struct space *space, const uint64_t *leaf, uint64_t va, uint32_t kernel)
{
    uint32_t follows = space->home != instance.kernel ? 1 : 0; /* the home has the areas, and limits their number */
    int error = 0;

    space->areas.follows += follows;
    for (uint32_t i = 0; i < LEAF_ENTRIES && error == 0; i++) {
        uint64_t page = va + i * PAGE_SIZE, *entry;

        if (leaf[i] == 0 || frame_owner(leaf[i] & PAGING_FRAME) != kernel)
            continue;
        if ((leaf[i] & PAGING_SOFT_PENDING_FREE) != 0) { /* unmapped or discarded already, and counted so */
            *paging_entry(&space->tables, page, false) = 0;
            continue;
        }
        error = area_flag(&space->areas, page, page + PAGE_SIZE, AREA_LOST, 0);
        entry = error == 0 ? paging_entry(&space->tables, page, false) : NULL;
        if (entry == NULL)
            continue;
        if ((*entry & PAGING_SOFT_OWNING) != 0)
            space_hold_pages_locked(space, -1);
        *entry = 0;
    }
    space->areas.follows -= follows;
    return error;
}

int lost_take_frames(struct space *space, uint32_t kernel)
{
    const uint64_t *leaf;
    int error = 0;

    for (uint64_t va = 0; error == 0 && (leaf = paging_next_leaf_look(&space->tables, &va, USER_END)) != NULL;
         va += LEAF_SIZE) {
        va &= ~(LEAF_SIZE - 1);
        if (has_frames(space, va, kernel)) {
            spin_lock(&space->lock);
            error = take_frames_locked(space, leaf, va, kernel);
            spin_unlock(&space->lock);
            space_flush(space, va, va + LEAF_SIZE);
        }
        slice_check();
    }
    spin_lock(&space->lock);
    if (error == 0) /* else the next try looks for the rest */
        owners_forget(&space->owners, kernel);
    spin_unlock(&space->lock);
    return error;
}

bool lost_member_of(struct space *space, uint32_t kernel)
{
    bool part;

    spin_lock(&space->lock);
    part = space->home == kernel || (space->members >> kernel & 1) != 0;
    spin_unlock(&space->lock);
    return part;
}

void lost_forget(uint32_t kernel)
{
    struct space *space;

    for (uint64_t id = 0; (space = space_next(id)) != NULL;) {
        id = space->id + 1;
        spin_lock(&space->lock);
        if (space->home != kernel)
            space->members &= ~(1ull << kernel);
        lease_forget_locked(space, kernel);
        sharers_forget(&space->sharers, 1ull << kernel);
        spin_unlock(&space->lock);
        space_lock_forget(space, kernel);
        space_put(space);
        slice_check();
    }
}
