/* The rules of one address space, checked against the views that its kernels report. Contains no hardware access and no
 * messages: mm/audit/audit.c gathers the views, one window of addresses at a time. mm/audit/audit.md explains each
 * rule. */
#ifndef MM_AUDIT_CHECK_H
#define MM_AUDIT_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/audit/report.h"
#include "mm/directory/sharers.h"
#include "mm/space/wire.h"
#include "msg/message.h"

#define AUDIT_PAGES 512u                                   /* of a window: 2 MiB */
#define AUDIT_MARKS (AUDIT_PAGES * 4096ull / SHARERS_PART) /* parts of the directory in a window */
#define AUDIT_NO_AREA 0x80000000u /* in place of AREA_*: the page is in no area of that kernel */

/* Consecutive pages of one kernel with consecutive frames and otherwise equal entries. */
struct audit_run {
    uint64_t page;
    uint64_t entry; /* of the first page, as in the page table, without the accessed and dirty bits */
    uint32_t count; /* at least 1 */
    uint32_t prot;  /* AREA_* of that kernel's own area, or AUDIT_NO_AREA */
};

/* What has been reported of one page of the window. */
struct audit_page {
    uint64_t frame; /* valid if MAPPED is not empty */
    kernel_set mapped, owned, cow;
    kernel_set copies;     /* of MAPPED: these have a copy of their own */
    kernel_set replicated; /* these know that there may be copies */
};

struct audit_check {
    struct audit_report *report;
    uint64_t space;                     /* id, for the report */
    uint32_t home;                      /* kernel */
    bool home_knows;                    /* the home has to map every page that any kernel maps */
    uint32_t (*owner)(uint64_t frame);  /* returns the running kernel that owns the frame, or KERNELS_MAX */
    uint32_t (*spaces)(uint64_t frame); /* returns how many spaces the frame's owner counts for it; may wait */

    const struct msg_space_area *home_areas; /* ascending: all areas of the home in the range that is checked */
    uint32_t home_count;

    uint64_t base; /* first address of the window */
    struct audit_page pages[AUDIT_PAGES];
    kernel_set marks[AUDIT_MARKS]; /* of each part of the window, in the directory of the home */
};

/* Checks the order and alignment of the home's areas within [START, END), and keeps them for comparison. */
void audit_check_home_areas(struct audit_check *check, const struct msg_space_area *areas, uint32_t count,
                            uint64_t start, uint64_t end);
/* Checks KERNEL's areas within [START, END), a part of the range of the home's areas: R2, R3, R5. */
void audit_check_areas(struct audit_check *check, uint32_t kernel, const struct msg_space_area *areas, uint32_t count,
                       uint64_t start, uint64_t end);

/* Checks that the directory of the home has KERNEL in all parts of [START, END), which KERNEL has an area in. MARKS: of
 * each part, from the one of START on. */
void audit_check_area_marks(struct audit_check *check, uint32_t kernel, uint64_t start, uint64_t end,
                            const kernel_set *marks);

/* Begins a new window: AUDIT_PAGES pages from BASE on. All marks are set, until the caller sets them. */
void audit_check_begin(struct audit_check *check, uint64_t base);
/* Adds pages of KERNEL, each of which is reported once per window, and checks what a single entry shows: R1, R2, R4,
 * pending free, remote, outside, mark. */
void audit_check_run(struct audit_check *check, uint32_t kernel, const struct audit_run *run);
/* Ends the window, after all kernels have reported: checks what only all entries of a page together show: owned, home,
 * R4. May wait, as check->spaces does. */
void audit_check_end(struct audit_check *check);

/* One frame while programs are quiesced, as its owner and all page tables of the machine see it. */
struct audit_frame {
    uint64_t frame;
    uint32_t spaces; /* the owner's count of spaces */
    uint32_t owned;  /* owning entries, and caches of the owner */
    uint32_t abroad; /* those of the references that the owner takes for other kernels', or ABROAD_UNKNOWN */
    uint32_t theirs; /* owning entries of other kernels */
    bool free;       /* in the frame allocator */
    bool mapped;     /* an entry names it */
    bool exclusive;  /* an entry maps it as a private page that is not COW */
};
void audit_check_frame(struct audit_report *report, uint32_t owner, const struct audit_frame *frame);

#endif
