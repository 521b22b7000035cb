/* Declarations that the files of the audit share: the payloads of AUDIT_VIEW and AUDIT_FRAMES, and the functions. */
#ifndef MM_AUDIT_INTERNAL_H
#define MM_AUDIT_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/audit/check.h"
#include "mm/space/space.h"

/* AUDIT_VIEW */
enum audit_what { AUDIT_VIEW_AREAS = 1, AUDIT_VIEW_PAGES = 2, AUDIT_VIEW_MARKS = 3 };

struct msg_audit_view {
    uint64_t space;
    uint64_t start, end; /* whole pages; for pages at most AUDIT_PAGES, for marks from the start of a part on */
    uint64_t what;       /* enum audit_what */
};

/* The reply. struct msg_space_area, cut to the range, struct audit_run, or a kernel_set for each part follow. */
struct msg_audit_viewed {
    uint64_t next;    /* the reply covers all addresses below this one: END, or where to continue */
    uint64_t beyond;  /* for pages: the first address at or behind END with a page table; UINT64_MAX: there is none */
    uint64_t members; /* the kernels that host the space, as far as this one knows; 0: it does not host the space */
};

/* AUDIT_FRAMES. Starts at address VA of the space with the lowest id that is not below SPACE. With AUDIT_FILES in
 * SPACE: at page VA of an object; the rest of SPACE is the part and the object of a struct object_place. */
#define AUDIT_FILES (1ull << 63)
#define AUDIT_FILES_PART_SHIFT 32
struct msg_audit_frames {
    uint64_t start, end; /* physical addresses */
    uint64_t space, va;
};

/* The reply: where to continue; both 0: this is the last part. Words follow: the address of a frame, and FRAME_*. */
struct msg_audit_framed {
    uint64_t space, va;
};
#define FRAME_OWNED 1u     /* the entry is owning */
#define FRAME_EXCLUSIVE 2u /* the entry maps a private page that is not COW */

_Static_assert(sizeof(struct msg_audit_view) == 32, "wire format");
_Static_assert(sizeof(struct msg_audit_viewed) == 24, "wire format");
_Static_assert(sizeof(struct audit_run) == 24, "wire format");
_Static_assert(sizeof(struct msg_audit_frames) == 32, "wire format");

#define AUDIT_PART (16384u - 256u) /* the most bytes of a reply, so that its handler is short */

/* Fill in this kernel's reply to AUDIT_VIEW and AUDIT_FRAMES. OUT has AUDIT_PART bytes. Return the length. Never
 * wait. */
uint32_t audit_view_here(const struct msg_audit_view *ask, struct msg_audit_viewed *out);
uint32_t audit_frames_here(const struct msg_audit_frames *ask, struct msg_audit_framed *out);
void audit_view_init(void);

/* What an audit is told of whose memory the frames of SPACE are here. */
const struct sharers *audit_owners_here(const struct space *space);

/* Checks the page tables of this kernel and of the spaces here. Programs are quiesced. */
void audit_tables(struct audit_report *report);
/* Checks this kernel's frames against all page tables of the machine. Conditions and errors as audit_kernel. */
int audit_frames(struct audit_report *report);

#endif
