/* Payloads of messages about mapped objects: mm/file/file_map.md. */
#ifndef MM_FILE_WIRE_H
#define MM_FILE_WIRE_H

#include <stdint.h>

#include "mm/mempolicy/mempolicy.h"

/* FILE_PAGE: a page of an object of the receiver */
struct msg_file_page {
    uint64_t backing;
    uint64_t frame; /* with PLACED: a zeroed frame for the page if it has none, with a reference for the object and one
                       for the sender; 0: there is no such frame */
    uint64_t nodes; /* where a new page is wanted: struct placement of mm/mempolicy/mempolicy.h */
    uint16_t centre;
    uint8_t strict, interleave;
    uint8_t written; /* 1: a thread is about to write to it */
    uint8_t placed;  /* 1: a new page gets FRAME, or any frame of the receiver, wherever it is wanted */
    uint8_t last;    /* 1: no kernel has memory where it is wanted: the receiver gives up what it can do without */
    uint8_t pad;
};

enum file_paged {
    FILE_PAGED,          /* FRAME, with one more reference for the sender */
    FILE_PAGED_TAKEN,    /* the frame that was sent is the page's */
    FILE_PAGED_ELSEWHERE /* nothing was done: a new page is wanted on NODES, where the receiver has no memory */
};

struct msg_file_paged {
    uint64_t frame;
    uint64_t nodes; /* as above */
    uint16_t centre;
    uint8_t strict, interleave;
    uint32_t kind; /* enum file_paged */
};

/* FILE_POLICY: where new pages of an object of the receiver are placed; the answer is a struct policy */
struct msg_file_policy {
    uint64_t backing;     /* the first page */
    uint64_t count;       /* pages that get POLICY, which if DEFAULT is none; 0: returns that of the first page */
    struct policy policy; /* mm/mempolicy/mempolicy.h */
};

/* FILE_RESIDENT: pages of an object of the receiver */
struct msg_file_resident {
    uint64_t backing; /* the first */
    uint64_t count;   /* at most 64 */
};

struct msg_file_residents {
    uint64_t pages; /* a bit for each */
};

/* FILE_MOVE: pages of an object of the receiver. COUNT frames follow, as uint64_t: a page moves if it has that frame.
 */
struct msg_file_move {
    uint64_t backing; /* the first page */
    uint64_t token;   /* of the sender, for FILE_MOVED */
    uint64_t count;   /* 1 to 64 */
};

struct msg_file_moves {
    uint64_t pages; /* those that move: a bit for each */
};

/* FILE_MOVED */
struct msg_file_moved {
    uint64_t token;
    uint64_t chosen; /* pages of that FILE_MOVE which move no more: a bit for each */
    uint64_t frame;  /* the frame of the first of them, the others have those behind it; 0: as before */
};

/* FILE_HOLD */
struct msg_file_hold {
    uint64_t backing;          /* an object of the receiver; if MORE is 0, of any kernel */
    uint32_t kernel;           /* the kernel whose grants change */
    int32_t more;              /* the change of the number of grants; 0: a query for what the receiver, a home, knows */
    uint64_t came, went;       /* if MORE is negative: struct file_stamps of mm/file/hold.h */
    uint32_t came_of, went_of; /* likewise: processes */
    uint64_t pad;
};

struct msg_file_held { /* if MORE was 0: struct file_held of mm/file/hold.h, else zeros */
    uint64_t came, went;
    uint32_t came_of, went_of;
    uint32_t granted, attached;
};

_Static_assert(sizeof(struct msg_file_page) == 32, "wire format");
_Static_assert(sizeof(struct msg_file_paged) == 24, "wire format");
_Static_assert(sizeof(struct msg_file_policy) == 40, "wire format");
_Static_assert(sizeof(struct msg_file_move) == 24, "wire format");
_Static_assert(sizeof(struct msg_file_moved) == 24, "wire format");
_Static_assert(sizeof(struct msg_file_hold) == 48, "wire format");
_Static_assert(sizeof(struct msg_file_held) == 32, "wire format");

#endif
