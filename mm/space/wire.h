/* Payloads that several rooms of mm/ send or handle: a change of a space (SPACE_CHANGE, which mm/change handles), what
 * a kernel maps at a page, and lists of pages and areas. */
#ifndef MM_SPACE_WIRE_H
#define MM_SPACE_WIRE_H

#include <stdint.h>

#include "msg/message.h"

enum space_answer {
    SPACE_NONE = 0, /* precedence: the greater of these three wins */
    SPACE_AREA = 1,
    SPACE_FRAME = 2,
    SPACE_TAKEN = 3,       /* SPACE_GET only: the page has the asker's frame now */
    SPACE_BUSY = 4,        /* SPACE_GET only: ask again with the page's lock */
    SPACE_WANTS_BLOCK = 5, /* the 2 MiB around the page may have one frame: ask again with one */
    SPACE_TAKEN_BLOCK = 6  /* they have the asker's now */
};

struct msg_space_mapping {
    uint32_t kind;  /* enum space_answer */
    uint32_t prot;  /* AREA_*, unless SPACE_NONE */
    uint64_t start; /* the area, unless SPACE_NONE */
    uint64_t end;
    uint64_t frame; /* physical address, if SPACE_FRAME */
    uint32_t cow;   /* 1: other spaces may have the frame, it is only to be read; if SPACE_FRAME */
    uint32_t pad;
    uint64_t backing; /* what is behind the page: mm/area/backing.h; unless SPACE_NONE */
};

/* SPACE_AREAS, SPACE_LIST, SPACE_TAKE: where to go on; SPACE_FILL: unused, struct msg_space_pair follow */
struct msg_space_page {
    uint64_t space;
    uint64_t page;
};

struct msg_space_area {
    uint64_t start, end;
    uint64_t prot;    /* AREA_* */
    uint64_t backing; /* of its first page: mm/area/backing.h */
};

struct msg_space_pair {
    uint64_t page, frame;
};

/* SPACE_CHANGE, SPACE_SETTLE */
enum space_operation {
    SPACE_MAP = 1,     /* home only: an area of LENGTH, at START or near it, as TARGET (enum space_map_how) says */
    SPACE_UNMAP = 2,   /* take [START, START + LENGTH) out; own frames wait for SPACE_SETTLE */
    SPACE_PROTECT = 3, /* PROT for [START, START + LENGTH); at the home all of it must be mapped */
    SPACE_BREAK = 4,   /* home only: set the program break, if it is TARGET, to START; 0 asks; growth adds an area */
    SPACE_GUARD = 5,   /* for a fork: no private page is to be written any more without a look at its frame */
    SPACE_DISCARD = 6, /* as SPACE_UNMAP for private pages, but the areas stay; at the home all of it must be mapped */
    SPACE_GROWTH = 7,  /* home only: which growing area's start is to come down to START? */
    SPACE_GROW = 8,    /* home only: the area behind comes down to START, by LENGTH */
    SPACE_LOOK = 9,  /* home only: the area that has START, or is the first behind it, as TARGET (space_look_at) says */
    SPACE_ROOM = 10, /* home only: where SPACE_MAP would put LENGTH now, START being a hint */
    SPACE_PREPARE = 11, /* the range is to move to TARGET, where ROOM bytes are to be: do all that may fail */
    SPACE_MOVE = 12,    /* move its pages, and the area too unless PROT has AREA_MOVING: then it stays, empty */
    SPACE_CANCEL = 13,  /* as it was before SPACE_PREPARE */
    SPACE_CHECK = 14,   /* home only: EINVAL when an area of the range has a bit of PROT, or not all of TARGET; 1 when a
                         * part is in no area, else 0 */
    SPACE_FLAG = 15,    /* areas of the range lose the bits TARGET and get the bits PROT */
    SPACE_RESIDENT = 16,    /* which of the first 32 pages of the range are mapped here: a bit for each */
    SPACE_LEASE = 18,       /* home only: a range for the sender alone, with room for LENGTH; mm/lease/lease.md */
    SPACE_RECLAIM = 19,     /* home only: nobody is to have a lease of the range any more */
    SPACE_LATER = 17,       /* home only: areas made from now on get the bits PROT, of AREA_LOCKED */
    SPACE_STRATEGY = 20,    /* the space has the mode TARGET from now on */
    SPACE_FENCE = 21,       /* every CPU that has the space loaded is interrupted; the range is any */
    SPACE_POLICY_MAKE = 23, /* home only: the number of a policy: nodes START, as given LENGTH, mode and (upper half)
                             * flags PROT, home TARGET: mm/policy/policy.h */
    SPACE_POLICY_TELL = 24, /* home only: word TARGET of the policy of number PROT */
    SPACE_REVOKE = 22 /* in the range, ROOM pages from TARGET on (mm/area/backing.h) are no more the object's: entries
                       * of shared areas for them go; PROT 1: of private ones, too. Own frames wait for SPACE_SETTLE */
};

/* What SPACE_LOOK answers; in the low bits it has the area's AREA_*. */
enum space_look_at {
    SPACE_LOOK_START = 0,  /* of the area that has START or is the first behind it */
    SPACE_LOOK_END = 1,    /* of that */
    SPACE_LOOK_THERE = 2,  /* the end of the area that has START, if one has */
    SPACE_LOOK_POLICY = 4, /* the number of the policy of the area that has START, alone */
    /* Of the first area from START on that a shmat at ROOM has made, alone; ESRCH: there is none. */
    SPACE_LOOK_ATTACHED = 5, /* its start */
    SPACE_LOOK_ATTACHED_END = 6,
    SPACE_LOOK_ATTACHED_OBJECT = 7,
    SPACE_LOOK_BACKING = 3 /* what is behind the page START, alone; 0 too if no area has it */
};

/* How a new area finds its place; bits. */
enum space_map_how {
    SPACE_MAP_FIXED = 1,    /* at START, whatever is there */
    SPACE_MAP_KEEP = 2,     /* at START, unless something is there */
    SPACE_MAP_LOW = 4,      /* in the second GiB, or at START below its end */
    SPACE_MAP_GOES_ON = 8,  /* with KEEP: behind it is what comes next behind the area that ends there */
    SPACE_MAP_GRANTED = 32, /* the object behind it was granted to the home for this (mm/file/hold.h) */
    SPACE_MAP_BUSY = 16 /* where others have locked something or wait to, too: the whole space is locked, or is to be
                         * looked at again */
};

struct msg_space_change {
    uint64_t space;
    uint64_t start;  /* page aligned, but for SPACE_BREAK */
    uint64_t length; /* whole pages */
    uint32_t operation;
    uint32_t prot;
    uint64_t target; /* as the operation says, or 0 */
    uint64_t room;   /* the same; SPACE_MAP: what is behind it: mm/area/backing.h */
};

struct msg_space_changed {
    uint64_t value; /* SPACE_MAP: where; SPACE_BREAK: the break now; SPACE_GUARD: 1 if this kernel holds pages;
                     * SPACE_GROWTH: the start of the area that grows; SPACE_LOOK, SPACE_ROOM: an address;
                     * SPACE_CHECK, SPACE_RESIDENT: see there; SPACE_LEASE: where, or 0: there is none */
};

_Static_assert(sizeof(struct msg_space_mapping) == 48, "wire format");
_Static_assert(sizeof(struct msg_space_page) == 16, "wire format");
_Static_assert(sizeof(struct msg_space_area) == 32, "wire format");
_Static_assert(sizeof(struct msg_space_pair) == 16, "wire format");
_Static_assert(sizeof(struct msg_space_change) == 48, "wire format");
_Static_assert(sizeof(struct msg_space_mapping) <= MSG_SHORT, "a handler answers in one slot");

#endif
