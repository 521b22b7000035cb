/* Payloads of the address space messages (those of mm/ in msg/messages.def). */
#ifndef MM_SPACE_WIRE_H
#define MM_SPACE_WIRE_H

#include <stdint.h>

#include "msg/message.h"

/* SPACE_LOCK, SPACE_UNLOCK */
struct msg_space_lock {
    uint64_t space;      /* id: the group's */
    uint64_t start, end; /* the range; two that overlap exclude each other */
};

struct msg_space_granted {
    uint64_t members; /* kernels that host the space now */
    uint64_t waited;  /* 1: others had to release it first */
};

/* SPACE_REQUEST, SPACE_FREED */
struct msg_space_request {
    uint64_t space;
    uint64_t start, end; /* as above */
    uint64_t time;       /* when it was made: with the asking kernel its name */
};

struct msg_space_queued {
    uint64_t queued;  /* 1: the space is here, and the request in its queues; 2: and the answer was held back; 0: it is
                       * not here */
    uint64_t members; /* kernels that host the space, from its home; else 0 */
};

/* SPACE_FETCH */
struct msg_space_fetch {
    uint64_t space;
    uint64_t page;
};

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

/* SPACE_QUERY */
struct msg_space_query {
    uint64_t space;
    uint64_t page;
    uint64_t rest;  /* kernels to ask yet, as a set */
    uint64_t known; /* of what is known so far, which never is a frame: what is behind the page */
    uint64_t query; /* the asker's number */
    uint32_t prot;
    uint16_t kind;  /* as in msg_space_mapping */
    uint16_t asker; /* kernel */
};

/* SPACE_FOUND */
struct msg_space_found {
    uint64_t query;
    uint64_t space;
    uint64_t frame; /* these as in msg_space_mapping */
    uint16_t kind;
    uint16_t cow;
    uint32_t prot;
    uint64_t backing;
};

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

/* Pages of one table of 512 that have frames one behind the other: the first one's frame << 12, how many << 12, and its
 * place in the table. */
#define SPACE_RUN_INDEX(run) ((uint32_t)(run)&511)
#define SPACE_RUN_LENGTH(run) ((uint32_t)((run) >> 12) & 0xfff)
#define SPACE_RUN_FRAME(run) ((run) >> 24 << 12)
#define SPACE_RUN(frame, length, index) ((frame) >> 12 << 24 | (uint64_t)(length) << 12 | (index))

/* SPACE_LIST: the answer; runs follow */
struct msg_space_listed {
    uint64_t next; /* address to go on from, or 0: that was all */
    uint64_t unused;
};

struct msg_space_run {
    uint64_t page; /* the first one's address */
    uint64_t run;  /* in place of the index: 1 if they are copy-on-write, else 0 */
};

#define SPACE_BLOCK_MAX 9u  /* all pages of a table */
#define SPACE_RUNS_SHORT 4u /* in one slot */
#define SPACE_RUNS_MAX 32u

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

/* SPACE_RECORD, SPACE_SWITCH */
struct msg_space_record {
    uint64_t space;
    uint64_t page;
    uint64_t
        frame;    /* physical address; the sender's own, or a file's. 0 (SPACE_SWITCH): none yet, the sender says later
                   */
    uint64_t cow; /* SPACE_RECORD: 1: it is copy-on-write */
};

/* SPACE_SWITCH: the answer */
struct msg_space_held {
    uint64_t held; /* 1: the entry held the space's reference to the frame that was there; it is the asker's now */
};

/* SPACE_AREAS, SPACE_TAKE: where to go on; SPACE_FILL: unused, struct msg_space_pair follow */
struct msg_space_page {
    uint64_t space;
    uint64_t page;
};

struct msg_space_area {
    uint64_t start, end;
    uint64_t prot;    /* AREA_* */
    uint64_t backing; /* of its first page: mm/area/backing.h */
};

/* SPACE_AREAS: the answer; areas follow */
struct msg_space_areas {
    uint64_t break_start, break_now;
    uint64_t next; /* address to go on from, or 0: that was all */
};

struct msg_space_pair {
    uint64_t page, frame;
};

/* SPACE_TAKE: the answer; pairs follow */
struct msg_space_taken {
    uint64_t next; /* as above */
    uint64_t unused;
};

/* FRAME_SOLE; FRAME_GIVE's answer. FRAME_SHARE and FRAME_RELEASE have any number of uint64_t, the physical addresses.
 */
struct msg_frame {
    uint64_t frame;
};

/* FRAME_GIVE */
struct msg_frame_wanted {
    uint64_t frame; /* to be copied, or 0 */
    uint64_t nodes; /* where the new one may be: a bit for each */
};

struct msg_frame_spaces {
    uint64_t spaces;
};

/* FILE_PAGE: a page of an object of the receiver's; the answer is a struct msg_frame */
struct msg_file_page {
    uint64_t backing;
};

/* FILE_HOLD */
struct msg_file_hold {
    uint64_t backing;          /* of the receiver's object; with MORE 0: of any */
    uint32_t kernel;           /* for whose spaces */
    int32_t more;              /* grants, or fewer; 0: what does the receiver, a home, know of the object? */
    uint64_t came, went;       /* with fewer: struct file_stamps of mm/file/hold.h */
    uint32_t came_of, went_of; /* likewise: processes */
    uint64_t pad;
};

struct msg_file_held { /* zeros, unless MORE was 0: struct file_held of mm/file/hold.h */
    uint64_t came, went;
    uint32_t came_of, went_of;
    uint32_t granted, attached;
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

/* SPACE_RECALL */
struct msg_space_recall {
    uint64_t space;
    uint64_t start, end; /* what is wanted; going on: what is given up */
    uint64_t from;       /* where to go on, or 0 */
};

/* The answer; areas and pairs follow, each for held pages */
struct msg_space_recalled {
    uint64_t start, end; /* what is given up */
    uint64_t next;       /* where to go on, or 0: that was all */
    uint32_t areas, pairs;
};

struct msg_space_changed {
    uint64_t value; /* SPACE_MAP: where; SPACE_BREAK: the break now; SPACE_GUARD: 1 if this kernel holds pages;
                     * SPACE_GROWTH: the start of the area that grows; SPACE_LOOK, SPACE_ROOM: an address;
                     * SPACE_CHECK, SPACE_RESIDENT: see there; SPACE_LEASE: where, or 0: there is none */
};

_Static_assert(sizeof(struct msg_space_lock) == 24, "wire format");
_Static_assert(sizeof(struct msg_space_request) == 32, "wire format");
_Static_assert(sizeof(struct msg_space_mapping) == 48, "wire format");
_Static_assert(sizeof(struct msg_space_query) == 48, "wire format");
_Static_assert(sizeof(struct msg_space_found) == 40, "wire format");
_Static_assert(sizeof(struct msg_space_get) == 32, "wire format");
_Static_assert(sizeof(struct msg_space_got) == 48, "wire format");
_Static_assert(sizeof(struct msg_space_page) == 16, "wire format");
_Static_assert(sizeof(struct msg_space_area) == 32, "wire format");
_Static_assert(sizeof(struct msg_space_areas) == 24, "wire format");
_Static_assert(sizeof(struct msg_space_listed) == 16, "wire format");
_Static_assert(sizeof(struct msg_space_run) == 16, "wire format");
_Static_assert(sizeof(struct msg_space_pair) == 16, "wire format");
_Static_assert(sizeof(struct msg_space_taken) == 16, "wire format");
_Static_assert(sizeof(struct msg_space_recall) == 32, "wire format");
_Static_assert(sizeof(struct msg_space_recalled) == 32, "wire format");
_Static_assert(sizeof(struct msg_space_change) == 48, "wire format");
_Static_assert(sizeof(struct msg_file_hold) == 48 && sizeof(struct msg_file_held) == 32, "wire format");
_Static_assert(sizeof(struct msg_space_mapping) <= MSG_SHORT, "a handler answers in one slot");

#endif
