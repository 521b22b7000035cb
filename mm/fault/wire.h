/* Payloads of the fast path of a fault (mm/retrieve/retrieval.md), and of a page that gets another frame. */
#ifndef MM_FAULT_WIRE_H
#define MM_FAULT_WIRE_H

#include <stdint.h>

#include "mm/retrieve/wire.h"

/* SPACE_GET */
struct msg_space_get {
    uint64_t space;
    uint64_t page;
    uint64_t spare;  /* physical address of a zeroed frame of the asker's, or 0 */
    uint32_t access; /* AREA_* */
    uint16_t runs;   /* at most so many of other pages are wanted */
    uint16_t huge;   /* enum space_huge */
};

/* How SPACE_GET may be answered for all of the page's table. Not with more runs than have room in one slot. */
enum space_huge {
    SPACE_HUGE_NO = 0,
    SPACE_HUGE_MAY = 1,  /* the asker has nothing there */
    SPACE_HUGE_BLOCK = 2 /* and brings 2 MiB: SPARE is of a zeroed block, in the page's place */
};

#define SPACE_BLOCK_MAX 9u  /* all pages of a table */
#define SPACE_RUNS_SHORT 4u /* in one slot */

/* SPACE_GET, SPACE_GET_MANY */
struct msg_space_got {
    uint8_t kind;  /* enum space_answer */
    uint8_t block; /* the aligned 2^BLOCK pages around the page, 512 at most, are all allowed the same */
    uint16_t prot; /* AREA_*, unless SPACE_NONE or SPACE_BUSY */
    uint8_t cow;
    uint8_t backed; /* 1: there are no runs, and the first is what is behind the page: mm/area/backing.h */
    uint8_t runs;   /* if SPACE_FRAME: how many there are */
    uint8_t policy; /* the number of the area's policy */
    uint64_t frame; /* as in msg_space_mapping */
    uint64_t run[SPACE_RUNS_SHORT]; /* SPACE_GET_MANY: up to SPACE_RUNS_MAX */
};

/* AREA_*, with the policy. */
static inline uint32_t space_got_prot(const struct msg_space_got *got)
{
    return got->prot | (uint32_t)got->policy << 16;
}

/* SPACE_SWITCH: the answer */
struct msg_space_owned {
    uint64_t owned; /* 1: the entry owned the space's reference to the frame that was there; it is the asker's now */
};

_Static_assert(sizeof(struct msg_space_get) == 32, "wire format");
_Static_assert(sizeof(struct msg_space_got) == 48, "wire format");

#endif
