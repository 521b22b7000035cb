/* Large pages at faults. See the header. */
#include "mm/fault/huge.h"

#include "boot/options/control.h"
#include "boot/options/options.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/window.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "mm/area/backing.h"
#include "mm/frame/abroad.h"
#include "mm/frame/content.h"
#include "mm/frame/frame.h"
#include "mm/frame/reference.h"
#include "mm/lease/decide.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/page/install.h"
#include "mm/space/entry.h"
#include "mm/space/wire.h"
#include "msg/channel.h"
#include "msg/slice.h"

#define ZERO_AT_ONCE (128u << 10) /* bytes that are zeroed between two polls for messages */

enum choice { HUGE_MADVISE, HUGE_ALWAYS, HUGE_NEVER };

static volatile enum choice policy; /* [a] */

static void policy_set(const char *value)
{
    policy = (enum choice)option_index("huge", value);
}

void huge_init(void)
{
    static struct option option = {.name = "huge", .set = policy_set};

    option_add(&option);
}

/* True when an area with PROT may have large pages. An executable one may not: see paging_large.c. */
static bool area_may(uint32_t prot)
{
    if (policy == HUGE_NEVER || (prot & (AREA_NO_HUGE | AREA_EXEC | AREA_GROWS | AREA_MOVING)) != 0)
        return false;
    return policy == HUGE_ALWAYS || (prot & AREA_HUGE) != 0;
}

/* True when LEAF, a table or NULL, has no entries in use. */
static bool is_empty(const uint64_t *leaf)
{
    return leaf == NULL || paging_next_used(leaf, 0, LEAF_ENTRIES) == LEAF_ENTRIES;
}

bool huge_wanted_locked(const struct space *space, const struct area *area, uint64_t page, uint32_t access)
{
    uint64_t start = page & ~(LEAF_SIZE - 1), end = start + LEAF_SIZE;

    if ((access & AREA_WRITE) == 0 && (area->prot & (AREA_HUGE | AREA_SHARED)) == 0)
        return false; /* reading private memory that nobody has asked large pages for costs no frame: the zero page */
    if (backing_is_file(area->backing) || !area_may(area->prot) || start < area->start || end > area->end ||
        !is_empty(paging_look(&space->tables, start)))
        return false;
    if (area->backing != BACKING_NONE && backing_left(area_backing_at(area, end - PAGE_SIZE)) == 0)
        return false;
    return space_decides_locked(space, (struct space_range){start, end}, DECIDES_MISSING) != DECIDES_NOT;
}

uint64_t huge_block(struct space *space, uint32_t prot, uint64_t page)
{
    uint64_t frame = mempolicy_block(space, prot, page);
    bool own = frame != 0 && window_owns(frame, LEAF_SIZE);

    for (uint64_t at = 0; frame != 0 && at < LEAF_SIZE; at += ZERO_AT_ONCE) {
        if (own)
            memset((uint8_t *)window_direct(frame) + at, 0, ZERO_AT_ONCE);
        for (uint64_t more = 0; !own && more < ZERO_AT_ONCE; more += PAGE_SIZE)
            frame_zero(frame + at + more);
        slice_check();
    }
    return frame;
}

static void release_run(uint64_t frame, uint64_t count)
{
    struct releasing releasing = {0};

    if (window_owns(frame, PAGE_SIZE)) {
        frame_release_run(frame, count);
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (release_add(&releasing, frame + i * PAGE_SIZE) != 0)
            release_one(frame + i * PAGE_SIZE);
    }
    release_send(&releasing);
}

void huge_block_release(uint64_t block, uint64_t keep)
{
    uint64_t kept = keep != 0 ? (keep - block) / PAGE_SIZE : LEAF_ENTRIES;

    if (kept > 0)
        release_run(block, kept);
    if (kept + 1 < LEAF_ENTRIES)
        release_run(keep + PAGE_SIZE, LEAF_ENTRIES - kept - 1);
}

/* Fills the empty table around PAGE with the entries of a block, of which ENTRY is the first. False: no memory for the
 * table. Without memory for the large entry the pages stay small. */
static bool fill_locked(struct space *space, uint64_t page, uint64_t entry)
{
    uint64_t *leaf = paging_entry(&space->tables, page & ~(LEAF_SIZE - 1), true);

    if (leaf == NULL)
        return false;
    for (uint32_t i = 0; i < LEAF_ENTRIES; i++)
        leaf[i] = entry + i * PAGE_SIZE;
    paging_make_large(&space->tables, page);
    return true;
}

/* Maps the block FRAME around PAGE, unless something has changed since the large page was wanted in an area with PROT.
 */
static bool install_locked(struct space *space, uint64_t page, uint32_t prot, uint32_t access, uint64_t frame)
{
    const struct area *area = area_find(&space->areas, page);

    if (area == NULL || !area_allows(area->prot, access) ||
        area->prot >> AREA_POLICY_SHIFT != prot >> AREA_POLICY_SHIFT || !huge_wanted_locked(space, area, page, access))
        return false;
    if (!fill_locked(space, page, space_entry(space, page, frame, area->prot, false, true, PAGING_ACCESSED)))
        return false;
    for (uint64_t at = 0; at < LEAF_SIZE && area->backing != BACKING_NONE; at += PAGE_SIZE)
        space_name_frame(frame + at, area_backing_at(area, (page & ~(LEAF_SIZE - 1)) + at));
    space_hold_pages_locked(space, LEAF_ENTRIES);
    space->stats.faults_local++;
    return true;
}

bool huge_map(struct space *space, uint64_t page, uint32_t prot, uint32_t access)
{
    uint64_t frame = huge_block(space, prot, page);
    bool mapped;

    if (frame == 0)
        return false;
    spin_lock(&space->lock);
    mapped = install_locked(space, page, prot, access, frame);
    spin_unlock(&space->lock);
    if (!mapped)
        huge_block_release(frame, 0);
    return mapped;
}

/* --- over kernels --- */

bool huge_may_take(const struct area *area, uint64_t page, const uint64_t *leaf)
{
    uint32_t index = paging_index(page);

    if (policy == HUGE_NEVER || (area != NULL && !area_may(area->prot)))
        return false;
    if (leaf != NULL && index > 0 && leaf[index - 1] != 0) /* most programs touch pages in this order */
        return false;
    return is_empty(leaf);
}

/* True if all frames of BLOCK, of KERNEL's memory, may be a program's: this kernel's are, if it has given them away. */
static bool is_given(uint64_t block, uint32_t kernel)
{
    bool given = true;

    for (uint64_t at = 0; at < LEAF_SIZE && given && kernel == instance.kernel; at += PAGE_SIZE)
        given = abroad_count(block + at) != 0;
    return given;
}

uint16_t huge_answer_locked(struct space *space, const struct area *area, const struct msg_space_get *ask)
{
    uint64_t block = ask->spare & ~(LEAF_SIZE - 1);
    uint32_t owner = frame_owner(ask->spare);

    if (ask->huge != SPACE_HUGE_BLOCK)
        return SPACE_WANTS_BLOCK;
    if (ask->spare == 0 || ask->spare - block != (ask->page & (LEAF_SIZE - 1) & ~(PAGE_SIZE - 1)) ||
        frame_owner(block) != owner || frame_owner(block + LEAF_SIZE - PAGE_SIZE) != owner || !is_given(block, owner) ||
        !fill_locked(space, ask->page, space_entry(space, ask->page, block, area->prot, false, false, 0)))
        return SPACE_AREA;
    return SPACE_TAKEN_BLOCK;
}

/* An answer to another thread may have mapped frames of the block here already, by borrowed entries. */
void huge_hold_block_locked(struct space *space, uint64_t page, uint64_t block, uint32_t prot)
{
    uint64_t start = page & ~(LEAF_SIZE - 1);
    uint64_t *leaf = paging_entry(&space->tables, start, false);
    uint64_t entry = space_entry(space, page, block, prot, false, true, PAGING_ACCESSED);

    for (uint32_t i = 0; i < LEAF_ENTRIES; i++) {
        if (leaf[i] != 0 && (leaf[i] & PAGING_FRAME) != block + i * PAGE_SIZE)
            panic("mm: page %lx has a frame beside its block", (unsigned long)(start + i * PAGE_SIZE));
        leaf[i] = entry + i * PAGE_SIZE;
    }
    space_hold_pages_locked(space, LEAF_ENTRIES);
    space->stats.area_anonymous++;
    huge_show_locked(space, page, prot);
}

void huge_show_locked(struct space *space, uint64_t page, uint32_t prot)
{
    if (area_may(prot))
        paging_make_large(&space->tables, page); /* no effect if the entries do not match or memory is short */
}
