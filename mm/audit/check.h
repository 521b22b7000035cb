/* The rules of one address space, compared from what its kernels tell. Free of hardware and of messages:
 * mm/audit/audit.c gathers the views, a window of addresses at a time. mm/audit/audit.md explains each rule. */
#ifndef MM_AUDIT_CHECK_H
#define MM_AUDIT_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/audit/report.h"
#include "mm/space/wire.h"
#include "msg/message.h"

#define AUDIT_PAGES 2048u         /* of a window: 8 MiB */
#define AUDIT_NO_AREA 0x80000000u /* in place of AREA_*: no area of that kernel has the page */

/* Consecutive pages of one kernel with consecutive frames and otherwise equal entries. */
struct audit_run {
    uint64_t page;
    uint64_t entry; /* of the first page, as in the page table but for the accessed and dirty bits */
    uint32_t count; /* at least 1 */
    uint32_t prot;  /* AREA_* of that kernel's own area, or AUDIT_NO_AREA */
};

/* What is known of one page of the window. */
struct audit_page {
    uint64_t frame; /* where MAPPED is not empty */
    kernel_set mapped, owned, cow;
};

struct audit_check {
    struct audit_report *report;
    uint64_t space;                     /* id, for the report */
    uint32_t home;                      /* kernel */
    bool home_knows;                    /* the home has to map what any kernel maps */
    uint32_t (*owner)(uint64_t frame);  /* the running kernel whose memory it is, or KERNELS_MAX */
    uint32_t (*spaces)(uint64_t frame); /* how many spaces have it, as its owner says. May wait */

    const struct msg_space_area *home_areas; /* ascending: all that the home has of the range looked at */
    uint32_t home_count;

    uint64_t base; /* first address of the window */
    struct audit_page pages[AUDIT_PAGES];
};

/* The home's areas within [START, END), which are compared with from now on: order, alignment. */
void audit_check_home_areas(struct audit_check *check, const struct msg_space_area *areas, uint32_t count,
                            uint64_t start, uint64_t end);
/* KERNEL's areas within [START, END), a part of the range of the home's: R2, R3, R5. */
void audit_check_areas(struct audit_check *check, uint32_t kernel, const struct msg_space_area *areas, uint32_t count,
                       uint64_t start, uint64_t end);

/* A new window: AUDIT_PAGES pages from BASE on. */
void audit_check_begin(struct audit_check *check, uint64_t base);
/* Pages of KERNEL in the window, each told once. What the entry alone shows: R1, R2, R4, pending free, remote, outside.
 */
void audit_check_run(struct audit_check *check, uint32_t kernel, const struct audit_run *run);
/* All kernels have told: what only all entries of a page show: owned, home, R4. May wait, as check->spaces does. */
void audit_check_end(struct audit_check *check);

/* One frame, at rest, as its owner and all page tables of the machine see it. */
struct audit_frame {
    uint64_t frame;
    uint32_t spaces; /* the owner's count */
    uint32_t owned;  /* entries that own it */
    bool free;       /* in the allocator */
    bool mapped;     /* some entry names it */
    bool exclusive;  /* some entry lets a program write to it as its private page */
};
void audit_check_frame(struct audit_report *report, uint32_t owner, const struct audit_frame *frame);

#endif
