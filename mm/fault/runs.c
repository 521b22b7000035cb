/* Runs of pages: see the header. */
#include "mm/fault/runs.h"

#include "kernel/instance/window.h"
#include "mm/frame/reference.h"
#include "mm/page/zero_page.h"
#include "mm/retrieve/wire.h"
#include "mm/space/entry.h"
#include "mm/space/question.h"

/* Of these bits a page of a run has none, but PAGING_SOFT_COW in a run of copy-on-write pages. */
#define RUN_BITS (PAGING_SOFT_PENDING_FREE | PAGING_SOFT_COW | PAGING_SOFT_MARKED | PAGING_SOFT_REPLICATED)
#define GAP_MOST 32u /* who asks for a page is not told of runs behind more pages than these that are in none */
/* What the entries of a run have alike, or in order: they differ in bits that do not matter here. */
#define RUN_SAME (PAGING_FRAME | PAGING_USER | RUN_BITS)

/* Programs may use the page: PAGING_USER stays when a look for accesses has made the entry not present. COW is
 * PAGING_SOFT_COW for runs of copy-on-write pages, else 0. The zero page, whose frame is ZEROS or 0, stays at home, and
 * a page that is marked or replicated is asked for when it is touched. */
static bool may_go_along(uint64_t entry, uint64_t cow, uint64_t zeros)
{
    return (entry & PAGING_USER) != 0 && (entry & RUN_BITS) == cow && (entry & PAGING_FRAME) != zeros;
}

/* The end of the run that begins at INDEX, at most END. Its frames are consecutive, so it is known beforehand where the
 * zero page would be. */
static uint32_t run_end(const uint64_t *leaf, uint32_t index, uint32_t end, uint64_t zeros)
{
    uint64_t ahead = (zeros - (leaf[index] & PAGING_FRAME)) / PAGE_SIZE; /* much if the zero page is below */
    uint64_t next = leaf[index] + PAGE_SIZE;
    uint32_t i = index + 1;

    if (ahead < end - index)
        end = index + (uint32_t)ahead;
    for (; i < end && ((leaf[i] ^ next) & RUN_SAME) == 0; i++)
        next += PAGE_SIZE;
    return i;
}

/* The start of the run that INDEX is in, at least START. */
static uint32_t run_start(const uint64_t *leaf, uint32_t index, uint32_t start, uint64_t zeros)
{
    uint64_t behind = ((leaf[index] & PAGING_FRAME) - zeros) / PAGE_SIZE; /* much if the zero page is above */
    uint64_t before = leaf[index] - PAGE_SIZE;

    if (behind <= index - start)
        start = index - (uint32_t)behind + 1;
    for (; index > start && ((leaf[index - 1] ^ before) & RUN_SAME) == 0; index--)
        before -= PAGE_SIZE;
    return index;
}

uint32_t space_runs_list_locked(const uint64_t *entry, uint64_t page, uint64_t start, uint64_t end, bool copied,
                                uint64_t *runs, uint32_t most)
{
    uint64_t cow = copied ? PAGING_SOFT_COW : 0, zeros = zero_page_frame();
    uint32_t last = paging_index(end - 1) + 1, at = paging_index(page), count = 0, stop;
    const uint64_t *leaf = entry - at;

    if (!may_go_along(*entry, cow, zeros))
        return 0;
    at = run_start(leaf, at, paging_index(start), zeros);
    while (count < most && at < last) {
        uint32_t next = run_end(leaf, at, last, zeros);

        runs[count++] = SPACE_RUN(leaf[at] & PAGING_FRAME, next - at, at);
        stop = last - next <= GAP_MOST ? last : next + GAP_MOST + 1;
        at = paging_next_used(leaf, next, stop);
        while (at < stop && !may_go_along(leaf[at], cow, zeros))
            at = paging_next_used(leaf, at + 1, stop);
        if (at == stop)
            return count;
    }
    return count;
}

/* BACKING is that of page BACKED. FLAGS: PAGING_SOFT_REMOTE, if the frames are another kernel's, which is noted; or 0.
 */
static void install_run_locked(struct space *space, uint64_t *leaf, uint64_t at, uint64_t run, uint32_t prot, bool cow,
                               uint64_t flags, uint64_t backing, uint64_t backed)
{
    uint32_t index = SPACE_RUN_INDEX(run), length = SPACE_RUN_LENGTH(run);
    uint64_t page = at + index * PAGE_SIZE, end = page + length * PAGE_SIZE;
    uint64_t copied = cow ? space_question_copied_locked(space, page, end) : end;
    uint64_t entry = space_entry(space, page, SPACE_RUN_FRAME(run), prot, cow, false, flags | PAGING_SOFT_PREFETCHED);

    if (!area_covers(&space->areas, page, end) &&
        area_set_backed(&space->areas, page, end, prot, backing_at(backing, (int64_t)(page - backed))) != 0)
        return;
    for (uint32_t i = index; i < index + length; i++, page += PAGE_SIZE, entry += PAGE_SIZE) {
        if (page == copied) {
            copied = space_question_copied_locked(space, page + PAGE_SIZE, end);
            continue;
        }
        if (leaf[i] != 0)
            continue;
        leaf[i] = entry;
        space->stats.prefetched++;
    }
}

void space_runs_install_locked(struct space *space, uint64_t page, uint64_t start, uint64_t end, const uint64_t *runs,
                               uint32_t count, uint32_t prot, bool cow, uint64_t backing)
{
    uint64_t at = page & ~(LEAF_SIZE - 1);
    uint64_t *leaf;

    if (paging_large(&space->tables, page) != 0)
        return; /* all of them are there, and the large page stays one */
    leaf = paging_entry(&space->tables, at, false);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t first = at + SPACE_RUN_INDEX(runs[i]) * PAGE_SIZE;
        uint64_t bytes = SPACE_RUN_LENGTH(runs[i]) * PAGE_SIZE;
        uint32_t owner = frame_owner(SPACE_RUN_FRAME(runs[i]));

        if (bytes == 0 || first < start || first + bytes > end || owner == KERNELS_MAX ||
            frame_owner(SPACE_RUN_FRAME(runs[i]) + bytes - PAGE_SIZE) != owner)
            continue;
        if (owner != instance.kernel)
            owners_note(&space->owners, page, owner);
        install_run_locked(space, leaf, at, runs[i], prot, cow, owner != instance.kernel ? PAGING_SOFT_REMOTE : 0,
                           backing, page);
    }
}
