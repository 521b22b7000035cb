/* Payloads that several rooms of mm/ send or handle: operations on a space (320 to 340 in msg/messages.def, handled by
 * mm/change), the mapping of a page on a kernel, and lists of pages and areas. */
#ifndef MM_SPACE_WIRE_H
#define MM_SPACE_WIRE_H

#include <stdint.h>

#include "kernel/abi/limits.h"
#include "msg/message.h"

enum space_answer {
    SPACE_NONE = 0, /* precedence: the greater of these three wins */
    SPACE_AREA = 1,
    SPACE_FRAME = 2,
    SPACE_TAKEN = 3,       /* SPACE_GET only: the page has the asker's frame now */
    SPACE_BUSY = 4,        /* SPACE_GET only: retry with the page's lock */
    SPACE_WANTS_BLOCK = 5, /* the 2 MiB around the page may have one frame: retry with one */
    SPACE_TAKEN_BLOCK = 6, /* the 2 MiB have the asker's frame now */
    SPACE_COPIED = 7,      /* SPACE_GET only: the page has the asker's frame now, a copy of the one that it had */
    SPACE_MOVES = 8,       /* SPACE_GET only: the page's frame, for reading alone, while the page moves */
    SPACE_LEASED = 9       /* SPACE_GET only: the page is in a lease of the asker, and has what the asker maps there */
};

struct msg_space_mapping {
    uint32_t kind;  /* enum space_answer */
    uint32_t prot;  /* AREA_*, unless SPACE_NONE */
    uint64_t start; /* the area, unless SPACE_NONE */
    uint64_t end;
    uint64_t frame;     /* physical address, if SPACE_FRAME */
    uint16_t cow;       /* 1: other spaces may have the frame, so it must not be written; if SPACE_FRAME */
    uint8_t marked;     /* 1: the page moves when it is touched (mm/move/lazy.md); if SPACE_FRAME */
    uint8_t replicated; /* 1: COW, and the asker may read a copy (mm/replicate/replicate.md); if SPACE_FRAME */
    uint32_t spaces;    /* if COW and the frame is the answering kernel's: how many spaces have it; 0: not known */
    uint64_t backing;   /* the backing of the page: mm/area/backing.h; unless SPACE_NONE */
};

/* SPACE_AREAS, SPACE_LIST, SPACE_TAKE: PAGE is where to continue, with SPACE_AREAS_KEPT if the asker makes the areas
 * its own; SPACE_FILL: PAGE is unused, struct msg_space_pair follow */
#define SPACE_AREAS_KEPT 1ull
#define SPACE_AREAS_RECALLED 2ull /* all leases are recalled first */
#define SPACE_AREAS_HELD 4ull     /* of a fork, which keeps leases from being recalled */
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

/* The result of SPACE_LOOK. Except where marked "alone", its low bits have the area's AREA_*. */
enum space_look_at {
    SPACE_LOOK_START = 0,  /* the start of the area that contains START or is the first behind it */
    SPACE_LOOK_END = 1,    /* the end of that area */
    SPACE_LOOK_THERE = 2,  /* the end of the area that contains START, if there is one */
    SPACE_LOOK_STOP = 8,   /* as THERE, or an earlier address at which a lease ends; ends no lease */
    SPACE_LOOK_POLICY = 4, /* the number of the policy of the area that contains START, alone */
    /* Of the first area from START on that was made by a shmat at ATTACHED, alone; ESRCH: there is none. */
    SPACE_LOOK_ATTACHED = 5, /* its start */
    SPACE_LOOK_ATTACHED_END = 6,
    SPACE_LOOK_ATTACHED_OBJECT = 7,
    /* The backing of the page START, alone; 0 also if no area contains it, or the memory is anonymous. */
    SPACE_LOOK_BACKING = 3,
    SPACE_LOOK_ANONYMOUS = 9 /* the same without BACKING_ANONYMOUS; 0 unless the memory is anonymous and shared */
};

/* How a new area finds its place; bits. */
enum space_map_how {
    SPACE_MAP_FIXED = 1,    /* at START, replacing existing mappings */
    SPACE_MAP_KEEP = 2,     /* at START, unless a part of the range is mapped */
    SPACE_MAP_LOW = 4,      /* in the second GiB, or at START below its end */
    SPACE_MAP_GOES_ON = 8,  /* with KEEP: the backing continues that of the area that ends there */
    SPACE_MAP_TRY = 64,     /* with FIXED: only checks the limits of the process; nothing is mapped */
    SPACE_MAP_GRANTED = 32, /* the object that backs it was granted to the home for this mapping (mm/file/hold.h) */
    SPACE_MAP_BUSY = 16 /* also in ranges that other tasks have locked or requested: the caller holds the whole-space
                           lock, or checks again */
};

/* Bits of PROT in a message that are none of an area. */
#define SPACE_UNLIMITED 0x8000u /* the calling thread may lock any amount of memory: RLIMIT_MEMLOCK is not checked */
#define SPACE_FILLS 0x4000u     /* SPACE_LATER with AREA_LOCKED: new areas are filled at once (no MCL_ONFAULT) */
#define SPACE_MARKS 0x1000000u  /* SPACE_FLAG with a policy: pages that are elsewhere get marked (mm/move/lazy.md) */

/* An operation on [START, START + LENGTH) of a space, and SPACE_SETTLE, which names the operation that it completes.
 * msg/messages.def describes each operation, mm/change/operations.c what they have in common. */
struct msg_space_change {
    uint64_t space;
    uint64_t start;     /* page aligned */
    uint64_t length;    /* whole pages */
    uint32_t operation; /* enum msg_type: the message's */
    uint32_t prot;      /* AREA_*, if the operation has them as an argument; SPACE_UNLIMITED, SPACE_MARKS */
    union {
        struct {          /* SPACE_MAP */
            uint32_t how; /* enum space_map_how */
            uint32_t pad;
            uint64_t backing; /* the backing: mm/area/backing.h */
        } map;
        struct {               /* SPACE_BREAK: of no range */
            uint64_t from, to; /* the expected old break and the new one; TO 0: only read the break */
        } brk;
        struct {           /* SPACE_LOOK */
            uint32_t what; /* enum space_look_at */
            uint32_t pad;
            uint64_t attached; /* for SPACE_LOOK_ATTACHED: the address of the shmat */
        } look;
        struct {               /* SPACE_PREPARE, SPACE_MOVE, SPACE_CANCEL */
            uint64_t to, room; /* the new place: its start and bytes */
        } move;
        struct { /* SPACE_CHECK: AREA_* */
            uint32_t forbidden, needed;
            uint64_t pad;
        } check;
        struct { /* SPACE_FLAG: AREA_* */
            uint32_t set, clear;
            uint32_t forbidden; /* the home refuses if an area has one of them */
            uint32_t dry;       /* 1: the home only checks the limit, and answers with what SPACE_LATER has set */
        } flag;
        struct { /* SPACE_STRATEGY */
            uint64_t mode, pad;
        } strategy;
        struct {             /* SPACE_STILL, SPACE_REPLACE, SPACE_WRITABLE */
            uint64_t chosen; /* of at most SPACE_CHOSEN_MAX pages, a bit for each that moves; of more pages, all do */
            uint64_t frame;  /* SPACE_REPLACE: the frame of the first of these pages, the others have those behind it;
                                with SPACE_STILL_* */
        } still;
        struct {            /* SPACE_REVOKE */
            uint64_t first; /* of an object's pages: mm/area/backing.h */
            uint64_t pages : 63;
            uint64_t copies : 1; /* entries of private areas, too */
        } revoke;
    };
};

struct msg_space_changed {
    uint64_t value; /* the operation's result, else 0 */
};

/* Bits of the frame in SPACE_REPLACE. */
#define SPACE_STILL_COW 1ull /* copy-on-write entries stay so, as the frames are a file's */
#define SPACE_STILL_BACK                                                                                               \
    2ull /* the pages had this frame before: entries become copy-on-write, unless they are to stay */
#define SPACE_STILL_FLAGS (SPACE_STILL_COW | SPACE_STILL_BACK)
#define SPACE_CHOSEN_MAX 64u /* pages of a SPACE_STILL, SPACE_REPLACE or SPACE_WRITABLE of which some move */

/* The value of a query (mm/change/query.c) at the home: SPACE_ELSEWHERE with the kernel that has leased the range,
 * which knows. */
#define SPACE_ELSEWHERE (1ll << 62)

/* SPACE_RESIDENT: after the struct come 1 to SPACE_ASK_RUNS runs of pages, with at most SPACE_ASK_PAGES pages together;
 * a run is the address of its first page and, in the bits below, how many pages follow that. */
struct msg_space_resident {
    uint64_t space;
};
#define SPACE_ASK_RUNS 64u
#define SPACE_ASK_PAGES 512u

/* The answer: a byte for each page, in the order of the runs; perhaps only for the first of them, but at least for one.
 * It is the node of the page's frame, or one of these. */
enum space_where {
    SPACE_WHERE_ZERO = NODES_MAX, /* the page of zeros, which is on every node */
    SPACE_WHERE_FAULT,            /* no area, or private memory without a file, which was never touched */
    SPACE_WHERE_NONE,             /* a page of a file or of shared memory that this space has not touched */
    SPACE_WHERE_LEASED = 128, /* of the home, with the number of a kernel in the bits below: that has a lease, ask it */
    SPACE_WHERE_AGAIN = 192   /* of another kernel: it has no lease there */
};

/* Bits of the value of an operation that leaves frames pending free: SPACE_UNMAP, SPACE_DISCARD, SPACE_REVOKE. */
#define SPACE_HOLE 1ll    /* SPACE_DISCARD at the home: a part of the range is in no area */
#define SPACE_PENDING 2ll /* this kernel has frames pending free in the range, for SPACE_SETTLE */
/* PROT of such an operation: no other kernel has anything there any more, so what becomes pending free is released at
 * once. */
#define SPACE_LAST 1u

_Static_assert(sizeof(struct msg_space_mapping) == 48, "wire format");
_Static_assert(sizeof(struct msg_space_page) == 16, "wire format");
_Static_assert(sizeof(struct msg_space_area) == 32, "wire format");
_Static_assert(sizeof(struct msg_space_resident) == 8, "wire format");
_Static_assert(SPACE_WHERE_LEASED + KERNELS_MAX <= SPACE_WHERE_AGAIN, "a byte tells them apart");
_Static_assert(sizeof(struct msg_space_pair) == 16, "wire format");
_Static_assert(sizeof(struct msg_space_change) == 48, "wire format");
_Static_assert(sizeof(struct msg_space_mapping) <= MSG_SHORT, "a handler answers in one slot");

#endif
