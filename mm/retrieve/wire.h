/* Payloads by which the strategies find pages, and runs of pages in them: mm/retrieve/retrieval.md. */
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

/* SPACE_RECORD, SPACE_SWITCH */
struct msg_space_record {
    uint64_t space;
    uint64_t page;
    /* Physical address; the sender's own, or a file's. SPACE_SWITCH, 0: none yet, the sender says later. */
    uint64_t frame;
    uint64_t cow; /* SPACE_RECORD: 1: it is copy-on-write */
};

/* Pages of one table of 512 that have frames one behind the other: the first one's frame << 12, how many << 12, and its
 * place in the table. */
#define SPACE_RUN_INDEX(run) ((uint32_t)(run)&511)
#define SPACE_RUN_LENGTH(run) ((uint32_t)((run) >> 12) & 0xfff)
#define SPACE_RUN_FRAME(run) ((run) >> 24 << 12)
#define SPACE_RUN(frame, length, index) ((frame) >> 12 << 24 | (uint64_t)(length) << 12 | (index))

#define SPACE_RUNS_MAX 32u /* in one answer */

/* SPACE_LIST: the answer; runs follow */
struct msg_space_listed {
    uint64_t next; /* address to go on from, or 0: that was all */
    uint64_t unused;
};

struct msg_space_run {
    uint64_t page; /* the first one's address */
    uint64_t run;  /* in place of the index: 1 if they are copy-on-write, else 0 */
};

/* SPACE_AREAS: the answer; areas follow */
struct msg_space_areas {
    uint64_t break_start, break_now;
    uint64_t next; /* address to go on from, or 0: that was all */
};

_Static_assert(sizeof(struct msg_space_query) == 48, "wire format");
_Static_assert(sizeof(struct msg_space_found) == 40, "wire format");
_Static_assert(sizeof(struct msg_space_record) == 32, "wire format");
_Static_assert(sizeof(struct msg_space_listed) == 16, "wire format");
_Static_assert(sizeof(struct msg_space_run) == 16, "wire format");
_Static_assert(sizeof(struct msg_space_areas) == 24, "wire format");

#endif
