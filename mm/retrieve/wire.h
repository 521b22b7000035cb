/* The payloads by which the strategies find pages, and runs of pages: mm/retrieve/retrieval.md. */
#ifndef MM_RETRIEVE_WIRE_H
#define MM_RETRIEVE_WIRE_H

#include <stdint.h>

/* SPACE_FETCH */
struct msg_space_fetch {
    uint64_t space;
    uint64_t page;
};

/* SPACE_QUERY */
struct msg_space_query {
    uint64_t space;
    uint64_t page;
    uint64_t rest;  /* the set of kernels that are still to be asked */
    uint64_t known; /* the backing of the page, if one of the kernels knew it; a query never carries a frame */
    uint64_t query; /* the asking kernel's number for the query */
    uint32_t prot;
    uint16_t kind;  /* as in msg_space_mapping */
    uint16_t asker; /* the asking kernel */
};

/* SPACE_FOUND */
struct msg_space_found {
    uint64_t query;
    uint64_t space;
    uint64_t frame; /* FRAME to BACKING as in msg_space_mapping */
    uint16_t kind;
    uint8_t cow;
    uint8_t marked;
    uint32_t prot;
    uint64_t backing;
};

/* SPACE_RECORD */
struct msg_space_record {
    uint64_t space;
    uint64_t page;
    uint64_t frame; /* physical address, of the sender's own memory or a file's page */
    uint64_t cow;   /* 1: the frame is copy-on-write */
};

/* A run: pages of one leaf table with consecutive frames. One word has the address of the first frame << 12, the number
 * of pages << 12, and the index of the first page in the table. */
#define SPACE_RUN_INDEX(run) ((uint32_t)(run)&511)
#define SPACE_RUN_LENGTH(run) ((uint32_t)((run) >> 12) & 0xfff)
#define SPACE_RUN_FRAME(run) ((run) >> 24 << 12)
#define SPACE_RUN(frame, length, index) ((frame) >> 12 << 24 | (uint64_t)(length) << 12 | (index))

#define SPACE_RUNS_MAX 32u /* in one answer */

/* SPACE_LIST: the reply; runs follow. */
struct msg_space_listed {
    uint64_t next; /* the address to continue from, or 0: this is the last part */
    uint64_t unused;
};

struct msg_space_run {
    uint64_t page; /* the address of the first page */
    uint64_t run;  /* a SPACE_RUN, with 1 if the pages are copy-on-write, else 0, in place of the index */
};

/* SPACE_AREAS: the reply; areas follow. */
struct msg_space_areas {
    uint64_t break_start, break_now;
    uint64_t next;   /* the address to continue from, or 0: this is the last part */
    uint64_t holder; /* 0, or 1 + the kernel that has leased NEXT: it knows the areas there */
    uint64_t until;  /* of such an answer: the end of that lease */
};

_Static_assert(sizeof(struct msg_space_query) == 48, "wire format");
_Static_assert(sizeof(struct msg_space_found) == 40, "wire format");
_Static_assert(sizeof(struct msg_space_record) == 32, "wire format");
_Static_assert(sizeof(struct msg_space_listed) == 16, "wire format");
_Static_assert(sizeof(struct msg_space_run) == 16, "wire format");
_Static_assert(sizeof(struct msg_space_areas) == 40, "wire format");

#endif
