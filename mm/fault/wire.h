/* Payloads of the fast path of a fault (mm/retrieve/retrieval.md), and the answer to SPACE_SWITCH. */
#ifndef MM_FAULT_WIRE_H
#define MM_FAULT_WIRE_H

#include <stdint.h>

#include "mm/area/backing.h"
#include "mm/area/range.h"
#include "mm/retrieve/wire.h"

/* SPACE_GET */
struct msg_space_get {
    uint64_t space;
    uint64_t page;
    uint64_t spare;  /* physical address of a zeroed frame of the asker, with BLOCK of any kernel, or 0 */
    uint16_t access; /* AREA_* */
    uint16_t has;    /* enum space_has */
    uint16_t runs;   /* the most runs of neighbouring pages that are wanted */
    uint16_t huge;   /* enum space_huge */
};

/* What the asker of SPACE_GET has at the page; bits. */
enum space_has {
    SPACE_HAS_NO_ENTRY = 1, /* no thread of the asker can read the page before the answer, which may be SPACE_COPIED */
    SPACE_HAS_SOLE = 2,     /* an owning entry for a frame of its own memory that no other space has */
    SPACE_HAS_COPY = 4,     /* an owning entry for a frame of its own memory, which others have; SPARE is a copy */
    SPACE_HAS_DIRTY = 8,    /* SPARE is not zeroed */
    SPACE_HAS_MEMORY = 32,  /* memory for a lease, so that the answer may be SPACE_LEASED */
    SPACE_HAS_AREA = 16     /* the page's area, so that the answer need not describe the pages around the page */
};

/* Whether SPACE_GET may be answered for all of the page's table; not if RUNS is more than SPACE_RUNS_SHORT. */
enum space_huge {
    SPACE_HUGE_NO = 0,
    SPACE_HUGE_MAY = 1,  /* yes: the asker has no entry in it */
    SPACE_HUGE_BLOCK = 2 /* and SPARE lies in a zeroed block of 2 MiB, at the page's place */
};

#define SPACE_BLOCK_MAX 9u  /* all pages of a table */
#define SPACE_RUNS_SHORT 4u /* the runs that fit into an answer of one slot */

/* SPACE_GET, SPACE_GET_MANY */
struct msg_space_got {
    uint8_t kind;  /* enum space_answer */
    uint8_t block; /* the aligned 2^BLOCK pages around the page, 512 at most, lie in one area */
    uint16_t prot; /* AREA_*, unless SPACE_NONE or SPACE_BUSY */
    uint8_t cow : 1;
    uint8_t marked : 1;
    uint8_t replicated : 1;         /* as in msg_space_mapping */
    uint8_t backed;                 /* 1: RUN[0] is the page's backing (mm/area/backing.h), and the runs follow it */
    uint8_t runs;                   /* if SPACE_FRAME: the number of runs */
    uint8_t policy;                 /* the number of the area's policy */
    uint64_t frame;                 /* as in msg_space_mapping */
    uint64_t run[SPACE_RUNS_SHORT]; /* SPACE_GET_MANY: up to SPACE_RUNS_MAX; SPACE_LEASED: the range */
};

/* The area's AREA_* bits with its policy. */
static inline uint32_t space_got_prot(const struct msg_space_got *got)
{
    return got->prot | (uint32_t)got->policy << 16;
}

/* The backing of the page; BACKING_NONE: none. */
static inline uint64_t space_got_backing(const struct msg_space_got *got)
{
    return got->backed != 0 ? got->run[0] : BACKING_NONE;
}

/* Of SPACE_LEASED: the range that the asker has from now on; empty: it has had the page before. */
static inline struct space_range space_got_lease(const struct msg_space_got *got)
{
    return (struct space_range){got->run[0], got->run[1]};
}

/* The words before the runs, and the runs. */
static inline uint32_t space_got_backed(const struct msg_space_got *got)
{
    return got->backed != 0 ? 1 : 0;
}

static inline const uint64_t *space_got_runs(const struct msg_space_got *got)
{
    return got->run + space_got_backed(got);
}

#define SPACE_SWITCH_MAX 64u /* pages of one SPACE_SWITCH */

/* SPACE_SWITCH */
struct msg_space_switch {
    uint64_t space;
    uint64_t page;
    uint64_t frame; /* as in msg_space_record; 0: there is none yet, and another message may follow */
    uint64_t pages; /* a bit for each page from PAGE on whose entry is to go; with a FRAME 1, for PAGE alone */
};

/* SPACE_SWITCH: the answer */
struct msg_space_owned {
    uint64_t owned; /* of PAGES: the entry was owning; the space's reference to the old frame is the requester's now */
};

_Static_assert(sizeof(struct msg_space_get) == 32, "wire format");
_Static_assert(sizeof(struct msg_space_switch) == 32 && sizeof(struct msg_space_owned) == 8, "wire format");
_Static_assert(sizeof(struct msg_space_got) == 48, "wire format");

#endif
