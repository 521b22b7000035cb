/* Payloads of SHARE_FIND, SHARE_BEGIN, SHARE_ROUND and SHARE_END: mm/move/move.md. */
#ifndef TASKS_SHARERS_WIRE_H
#define TASKS_SHARERS_WIRE_H

#include <stdint.h>

struct msg_share_find {
    uint64_t name; /* of a page: mm/area/backing.h */
};

/* The answer: one of these for each place at which a space at home with the receiver may map the page, at most 64. */
struct msg_share_found {
    uint64_t space; /* also the process that the space is of */
    uint64_t start; /* where, and SHARE_COPIES */
};
#define SHARE_COPIES 1ull /* the area is private */

struct msg_share_begin {
    uint64_t token; /* of the asker, which gives none twice while it is used */
    uint64_t space;
    uint64_t name;
    uint64_t start; /* as in the answer to SHARE_FIND */
    uint64_t count; /* pages, 64 at most, of one leaf table */
};

/* The answer: a word for each page, as to SPACE_FRAMES. */
struct msg_share_word {
    uint64_t word;
};

struct msg_share_round {
    uint64_t token;
    uint64_t operation; /* MSG_SPACE_STILL, MSG_SPACE_REPLACE or MSG_SPACE_WRITABLE */
    uint64_t chosen, frame;
};

struct msg_share_end {
    uint64_t token;
};

_Static_assert(sizeof(struct msg_share_find) == 8, "wire format");
_Static_assert(sizeof(struct msg_share_found) == 16, "wire format");
_Static_assert(sizeof(struct msg_share_begin) == 40, "wire format");
_Static_assert(sizeof(struct msg_share_word) == 8, "wire format");
_Static_assert(sizeof(struct msg_share_round) == 32, "wire format");
_Static_assert(sizeof(struct msg_share_end) == 8, "wire format");

#endif
