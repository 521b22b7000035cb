/* The rules of one address space. See the header. */
#include "mm/audit/check.h"

#include "kernel/abi/limits.h"
#include "kernel/arch/x86_64/paging.h"
#include "kernel/lib/string.h"
#include "mm/area/area.h"
#include "mm/area/backing.h"
#include "mm/frame/abroad.h"

#define RIGHTS (PAGING_PRESENT | PAGING_WRITE | PAGING_USER | PAGING_NO_EXECUTE)
#define NEVER (PAGING_UNCACHED | PAGING_LARGE | PAGING_GLOBAL) /* in the entry of a program */

static uint32_t first_of(kernel_set set)
{
    return (uint32_t)__builtin_ctzll(set);
}

/* The rights of an entry in an area with PROT. Deliberately a second implementation, so that mm/space/entry.h is
 * checked. */
static uint64_t rights_of(uint32_t prot, bool cow)
{
    uint64_t rights = 0;

    if ((prot & AREA_PROT) == 0)
        return 0;
    rights = PAGING_PRESENT | PAGING_USER;
    if ((prot & AREA_WRITE) != 0 && !cow)
        rights |= PAGING_WRITE;
    if ((prot & AREA_EXEC) == 0)
        rights |= PAGING_NO_EXECUTE;
    return rights;
}

/* --- areas --- */

static bool in_order(struct audit_check *check, uint32_t kernel, const struct msg_space_area *areas, uint32_t count,
                     uint64_t start, uint64_t end)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct msg_space_area *area = &areas[i];

        if (area->start < start || area->end > end || area->start >= area->end ||
            ((area->start | area->end) & (PAGE_SIZE - 1)) != 0 || area->prot >> 32 != 0) {
            audit_violation(check->report, AUDIT_VIEW,
                            "space %lu: kernel %u has an area %lx-%lx (%lx) out of order or shape",
                            (unsigned long)check->space, kernel, (unsigned long)area->start, (unsigned long)area->end,
                            (unsigned long)area->prot);
            return false;
        }
        start = area->end;
    }
    check->report->counts.areas += count;
    return true;
}

void audit_check_home_areas(struct audit_check *check, const struct msg_space_area *areas, uint32_t count,
                            uint64_t start, uint64_t end)
{
    check->home_areas = areas;
    check->home_count = in_order(check, check->home, areas, count, start, end) ? count : 0;
}

static uint64_t behind(const struct msg_space_area *area, uint64_t address)
{
    return backing_at(area->backing, (int64_t)(address - area->start));
}

/* Compares OWN and HOME, both of which contain AT. */
static void compare_area(struct audit_check *check, uint32_t kernel, const struct msg_space_area *own,
                         const struct msg_space_area *home, uint64_t at)
{
    uint64_t differ = (own->prot ^ home->prot) & ~(uint64_t)AREA_LOST; /* each notes what it has lost itself */
    bool backed = behind(own, at) == behind(home, at);
    enum audit_rule rule = (differ & AREA_SHARED) != 0 ? AUDIT_BACKING
                           : (differ & AREA_PROT) != 0 ? AUDIT_PROTECTION
                                                       : AUDIT_AREA;

    if (differ != 0)
        audit_violation(check->report, rule, "space %lu: kernel %u has area %lx-%lx with %lx, its home %u with %lx",
                        (unsigned long)check->space, kernel, (unsigned long)own->start, (unsigned long)own->end,
                        (unsigned long)own->prot, check->home, (unsigned long)home->prot);
    if (!backed)
        audit_violation(check->report, AUDIT_BACKING, "space %lu: behind %lx kernel %u has %lx, its home %u has %lx",
                        (unsigned long)check->space, (unsigned long)at, kernel, (unsigned long)behind(own, at),
                        check->home, (unsigned long)behind(home, at));
}

/* Checks that areas of the home cover OWN, with the same bits. */
static void cover(struct audit_check *check, uint32_t kernel, const struct msg_space_area *own)
{
    uint64_t at = own->start;

    for (uint32_t i = 0; i < check->home_count && at < own->end; i++) {
        const struct msg_space_area *home = &check->home_areas[i];

        if (home->end <= at)
            continue;
        if (home->start > at)
            break;
        compare_area(check, kernel, own, home, at);
        at = home->end;
    }
    if (at < own->end)
        audit_violation(check->report, AUDIT_AREA,
                        "space %lu: kernel %u has an area %lx-%lx, and its home %u has none at %lx",
                        (unsigned long)check->space, kernel, (unsigned long)own->start, (unsigned long)own->end,
                        check->home, (unsigned long)at);
}

void audit_check_areas(struct audit_check *check, uint32_t kernel, const struct msg_space_area *areas, uint32_t count,
                       uint64_t start, uint64_t end)
{
    if (!in_order(check, kernel, areas, count, start, end))
        return;
    for (uint32_t i = 0; i < count; i++)
        cover(check, kernel, &areas[i]);
}

void audit_check_area_marks(struct audit_check *check, uint32_t kernel, uint64_t start, uint64_t end,
                            const kernel_set *marks)
{
    uint64_t first = start & ~(SHARERS_PART - 1);

    if (!check->home_knows || kernel == check->home)
        return;
    for (uint64_t at = first; at < end; at += SHARERS_PART) {
        if ((marks[(at - first) / SHARERS_PART] >> kernel & 1) != 0)
            continue;
        audit_violation(check->report, AUDIT_MARK,
                        "space %lu: kernel %u has an area %lx-%lx, and the directory of home %u not at %lx",
                        (unsigned long)check->space, kernel, (unsigned long)start, (unsigned long)end, check->home,
                        (unsigned long)at);
        return;
    }
}

/* --- pages --- */

void audit_check_begin(struct audit_check *check, uint64_t base)
{
    check->base = base;
    memset(check->pages, 0, sizeof(check->pages));
    memset(check->marks, 0xff, sizeof(check->marks));
}

/* Checks what the entry of one page shows by itself. */
static void look_at_entry(struct audit_check *check, uint32_t kernel, uint64_t page, uint64_t entry, uint32_t prot)
{
    struct audit_report *report = check->report;
    unsigned long space = (unsigned long)check->space, at = (unsigned long)page, bits = (unsigned long)entry;
    uint32_t owner = check->owner(entry & PAGING_FRAME);
    bool cow = (entry & PAGING_SOFT_COW) != 0;

    if (owner == KERNELS_MAX)
        audit_violation(report, AUDIT_USE, "space %lu page %lx: kernel %u names frame %lx, which no running kernel has",
                        space, at, kernel, (unsigned long)(entry & PAGING_FRAME));
    else if (((entry & PAGING_SOFT_REMOTE) != 0) != (owner != kernel))
        audit_violation(report, AUDIT_REMOTE, "space %lu page %lx: kernel %u has entry %lx, its frame is kernel %u's",
                        space, at, kernel, bits, owner);
    if ((entry & PAGING_SOFT_PENDING_FREE) != 0) {
        audit_violation(report, AUDIT_PENDING_FREE, "space %lu page %lx: kernel %u has entry %lx outside a change",
                        space, at, kernel, bits);
        return;
    }
    if (prot == AUDIT_NO_AREA) {
        audit_violation(report, AUDIT_OUTSIDE, "space %lu page %lx: kernel %u has entry %lx and no area there", space,
                        at, kernel, bits);
        return;
    }
    if ((entry & (RIGHTS | NEVER)) != rights_of(prot, cow))
        audit_violation(report, AUDIT_PROTECTION, "space %lu page %lx: kernel %u has entry %lx in an area with %x",
                        space, at, kernel, bits, prot);
    if ((entry & (PAGING_SOFT_REPLICA | PAGING_SOFT_REPLICATED)) != 0 && !cow)
        audit_violation(report, AUDIT_SPECIAL, "space %lu page %lx: kernel %u has entry %lx, replicated and not COW",
                        space, at, kernel, bits);
    if ((entry & PAGING_SOFT_REPLICA) != 0 && (owner != kernel || (entry & PAGING_SOFT_OWNING) == 0))
        audit_violation(report, AUDIT_FRAME, "space %lu page %lx: kernel %u has entry %lx, a copy that is not its own",
                        space, at, kernel, bits);
    if (cow && (prot & AREA_SHARED) != 0)
        audit_violation(report, AUDIT_SPECIAL, "space %lu page %lx: kernel %u has it COW in a shared area", space, at,
                        kernel);
}

static void add_entry(struct audit_check *check, uint32_t kernel, uint64_t at, uint64_t entry)
{
    struct audit_page *page = &check->pages[(at - check->base) / PAGE_SIZE];
    uint64_t frame = entry & PAGING_FRAME;
    kernel_set bit = 1ull << kernel;

    if ((page->mapped & bit) != 0) {
        audit_violation(check->report, AUDIT_VIEW, "space %lu page %lx: kernel %u tells it twice",
                        (unsigned long)check->space, (unsigned long)at, kernel);
        return;
    }
    if ((entry & PAGING_SOFT_REPLICA) != 0)
        page->copies |= bit;
    else if ((page->mapped & ~page->copies) == 0)
        page->frame = frame;
    else if (page->frame != frame)
        audit_violation(check->report, AUDIT_FRAME,
                        "space %lu page %lx: kernel %u has frame %lx, kernel %u has frame %lx",
                        (unsigned long)check->space, (unsigned long)at, first_of(page->mapped & ~page->copies),
                        (unsigned long)page->frame, kernel, (unsigned long)frame);
    if (check->home_knows && kernel != check->home && (check->marks[(at - check->base) / SHARERS_PART] & bit) == 0)
        audit_violation(check->report, AUDIT_MARK,
                        "space %lu page %lx: kernel %u has entry %lx, and the directory of home %u has kernels %lx",
                        (unsigned long)check->space, (unsigned long)at, kernel, (unsigned long)entry, check->home,
                        (unsigned long)check->marks[(at - check->base) / SHARERS_PART]);
    page->mapped |= bit;
    if ((entry & (PAGING_SOFT_OWNING | PAGING_SOFT_REPLICA)) == PAGING_SOFT_OWNING)
        page->owned |= bit;
    if ((entry & PAGING_SOFT_REPLICATED) != 0)
        page->replicated |= bit;
    if ((entry & PAGING_SOFT_COW) != 0)
        page->cow |= bit;
    check->report->counts.entries++;
}

void audit_check_run(struct audit_check *check, uint32_t kernel, const struct audit_run *run)
{
    uint64_t end = check->base + AUDIT_PAGES * PAGE_SIZE;

    if (run->page < check->base || run->page >= end || (run->page & (PAGE_SIZE - 1)) != 0 || run->count == 0 ||
        run->count > (end - run->page) / PAGE_SIZE) {
        audit_violation(check->report, AUDIT_VIEW, "space %lu: kernel %u tells of %u pages at %lx, not of the window",
                        (unsigned long)check->space, kernel, run->count, (unsigned long)run->page);
        return;
    }
    for (uint32_t i = 0; i < run->count; i++) {
        uint64_t entry = run->entry + i * PAGE_SIZE;

        look_at_entry(check, kernel, run->page + i * PAGE_SIZE, entry, run->prot);
        if ((entry & PAGING_SOFT_PENDING_FREE) == 0)
            add_entry(check, kernel, run->page + i * PAGE_SIZE, entry);
    }
}

static void end_page(struct audit_check *check, uint64_t at, const struct audit_page *page)
{
    unsigned long space = (unsigned long)check->space;
    uint32_t spaces;

    check->report->counts.pages++;
    if (kernel_set_count(page->owned) != 1)
        audit_violation(check->report, AUDIT_OWNED,
                        "space %lu page %lx frame %lx: mapped by kernels %lx (a set), owned by %lx", space,
                        (unsigned long)at, (unsigned long)page->frame, (unsigned long)page->mapped,
                        (unsigned long)page->owned);
    if (check->home_knows && (page->mapped >> check->home & 1) == 0)
        audit_violation(check->report, AUDIT_HOME,
                        "space %lu page %lx frame %lx: mapped by kernels %lx, not by home %u", space, (unsigned long)at,
                        (unsigned long)page->frame, (unsigned long)page->mapped, check->home);
    if (page->copies != 0 && (page->replicated & page->owned) != 1ull << check->home)
        audit_violation(check->report, AUDIT_FRAME,
                        "space %lu page %lx frame %lx: kernels %lx have copies, and home %u has it not as replicated",
                        space, (unsigned long)at, (unsigned long)page->frame, (unsigned long)page->copies, check->home);
    if ((page->replicated >> check->home & 1) != 0 && (page->replicated | page->copies) != page->mapped)
        audit_violation(check->report, AUDIT_SPECIAL,
                        "space %lu page %lx frame %lx: replicated, and kernels %lx of %lx do not know that", space,
                        (unsigned long)at, (unsigned long)page->frame,
                        (unsigned long)(page->mapped & ~page->replicated & ~page->copies), (unsigned long)page->mapped);
    if (page->cow == 0 || page->cow == page->mapped)
        return;
    if (page->copies != 0 || (page->replicated >> check->home & 1) != 0) {
        audit_violation(check->report, AUDIT_SPECIAL,
                        "space %lu page %lx frame %lx: COW on kernels %lx of %lx, and replicated", space,
                        (unsigned long)at, (unsigned long)page->frame, (unsigned long)page->cow,
                        (unsigned long)page->mapped);
        return;
    }
    /* One kernel may have found that no other space has the frame; the others find that out when they write. */
    spaces = check->spaces(page->frame);
    if (spaces != 1)
        audit_violation(check->report, AUDIT_SPECIAL,
                        "space %lu page %lx frame %lx: COW on kernels %lx of %lx, and %u spaces have it", space,
                        (unsigned long)at, (unsigned long)page->frame, (unsigned long)page->cow,
                        (unsigned long)page->mapped, spaces);
}

void audit_check_end(struct audit_check *check)
{
    for (uint32_t i = 0; i < AUDIT_PAGES; i++) {
        if (check->pages[i].mapped != 0)
            end_page(check, check->base + i * PAGE_SIZE, &check->pages[i]);
    }
}

/* --- frames --- */

void audit_check_frame(struct audit_report *report, uint32_t owner, const struct audit_frame *frame)
{
    unsigned long at = (unsigned long)frame->frame;

    if (frame->spaces != 0)
        report->counts.frames++;
    if (frame->mapped && (frame->free || frame->spaces == 0))
        audit_violation(report, AUDIT_USE, "frame %lx of kernel %u is mapped by programs, and %s", at, owner,
                        frame->free ? "free" : "its owner knows of no space that has it");
    if (frame->spaces != frame->owned)
        audit_violation(report, AUDIT_COUNT, "frame %lx of kernel %u: %u spaces have it, %u entries hold it", at, owner,
                        frame->spaces, frame->owned);
    if (frame->abroad != frame->theirs && frame->abroad != ABROAD_UNKNOWN)
        audit_violation(report, AUDIT_ABROAD, "frame %lx of kernel %u: %u references are abroad, %u entries hold one",
                        at, owner, frame->abroad, frame->theirs);
    if (frame->exclusive && frame->spaces > 1)
        audit_violation(report, AUDIT_SHARE, "frame %lx of kernel %u: %u spaces have it, and one has it not COW", at,
                        owner, frame->spaces);
}
