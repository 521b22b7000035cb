/* What the files of the audit share: its payloads (93 and 95 in msg/messages.def), and the parts. */
#ifndef MM_AUDIT_INTERNAL_H
#define MM_AUDIT_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/audit/check.h"
#include "mm/space/space.h"

/* AUDIT_VIEW */
enum audit_what { AUDIT_VIEW_AREAS = 1, AUDIT_VIEW_PAGES = 2 };

struct msg_audit_view {
    uint64_t space;
    uint64_t start, end; /* whole pages; for pages at most AUDIT_PAGES */
    uint64_t what;       /* enum audit_what */
};

/* The answer; struct msg_space_area, cut to the range, or struct audit_run follow. */
struct msg_audit_viewed {
    uint64_t next;    /* it tells all below that address: END, or where to go on */
    uint64_t beyond;  /* pages: the first address at or behind END with a page table; UINT64_MAX: there is none */
    uint64_t members; /* kernels that host the space, as far as this one knows; 0: it does not host it */
};

/* AUDIT_FRAMES: from page VA of the space with the lowest id from SPACE on */
struct msg_audit_frames {
    uint64_t start, end; /* physical addresses */
    uint64_t space, va;
};

/* The answer: where to go on, both 0: that was all. Words follow: a frame's address, and FRAME_* */
struct msg_audit_framed {
    uint64_t space, va;
};
#define FRAME_OWNED 1u     /* the entry owns it */
#define FRAME_EXCLUSIVE 2u /* a private page that is not COW */

_Static_assert(sizeof(struct msg_audit_view) == 32, "wire format");
_Static_assert(sizeof(struct msg_audit_viewed) == 24, "wire format");
_Static_assert(sizeof(struct audit_run) == 24, "wire format");
_Static_assert(sizeof(struct msg_audit_frames) == 32, "wire format");

#define AUDIT_PART (16384u - 256u) /* bytes of an answer, at most: a handler is short */

/* What this kernel tells, as the messages do; OUT has AUDIT_PART bytes. Returns the length. Never waits. */
uint32_t audit_view_here(const struct msg_audit_view *ask, struct msg_audit_viewed *out);
uint32_t audit_frames_here(const struct msg_audit_frames *ask, struct msg_audit_framed *out);
void audit_view_init(void);

/* Checks what this kernel maps, in its own tables and those of the spaces here. Programs are quiesced. */
void audit_tables(struct audit_report *report);
/* Checks this kernel's frames against all page tables of the machine. As audit_kernel. */
int audit_frames(struct audit_report *report);

#endif
