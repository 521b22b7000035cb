/* What the home knows of a block of memory that another node than its own has used: pure functions, for tests on the
 * host. mm/numa.md describes them. */
#ifndef MM_SEEN_BLOCK_H
#define MM_SEEN_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define SEEN_NOBODY UINT8_MAX
#define SEEN_ANY_NODE (UINT8_MAX - 1)
#define SEEN_WRITTEN 4u /* halved like the counts: after three periods nobody has written it lately */
#define SEEN_STUCK 12u  /* periods in which a block that could not be moved is not to move there again */
#define SEEN_IDLE 4u    /* periods without a report after which a block is in no node's load */
#define SEEN_RESTS 8u   /* periods in which a block forgets one of its moves */
#define SEEN_DEAR 6u    /* how often what moves cost is doubled at most */
#define SEEN_HALVED 3u  /* how often counts are halved between two reports at most */
#define SEEN_FAR 11u /* periods between two reports: who reported before counts no longer (two looks are ten apart) */

/* All fields: space->lock. */
struct seen_block {
    uint64_t number;     /* address / the table's unit + 1; 0: an unused place */
    uint64_t since;      /* when the record was made, clock_now ns */
    uint64_t shared;     /* since when it has several users, clock_now ns */
    uint32_t age;        /* the period in which USED was halved last */
    uint32_t told;       /* the period of the last report */
    uint32_t tried_age;  /* the period in which it could not move */
    uint8_t tried;       /* the node to which it could not move then; SEEN_ANY_NODE: no other one would have helped;
                            SEEN_NOBODY: it has not been so */
    uint32_t moved_age;  /* the period in which it moved, or got copies, last */
    uint8_t moves;       /* how often it did, up to SEEN_DEAR; one less after each SEEN_RESTS periods */
    uint8_t last;        /* the node that was seen last */
    uint8_t wanted;      /* the node to which it is to move; SEEN_NOBODY: none; SEEN_ALL: it is to be replicated */
    uint8_t written;     /* SEEN_WRITTEN when a write was seen, halved with USED */
    bool replicated;     /* and not written since, as far as it was seen */
    uint8_t halved;      /* how often USED was halved since the last report */
    uint8_t load;        /* the node in whose load it is; SEEN_NOBODY: none, as it has one user, or none any more */
    uint16_t weight;     /* in it: the most sixteenths that a report has shown lately, times SIZE */
    uint64_t kernels[2]; /* seen to use it in the period TOLD, and in that of the report before, a bit for each */
    uint16_t size;       /* in units of the table: 1, or 1 to 512 pages if blocks adapt */
    uint16_t used[];     /* of each node: sixteenths that reports have told, halved in each period */
};

/* Halves the counts of BLOCK, of each of NODES nodes, as often as they should have been until the period AGE, but not
 * more than SEEN_HALVED times since the last report: kernels may look many periods apart, and who was seen at the last
 * look of his is a user at the next look of another. If nobody has reported it for SEEN_IDLE periods, it leaves LOAD,
 * the weights of blocks with several users on each node. */
void seen_block_age(struct seen_block *block, uint32_t nodes, uint32_t *load, uint32_t age);

/* NODE has used PAGES sixteenths of BLOCK, as a report of the period AGE says, until which the counts have
 * been halved; WRITTEN: and it has written one. */
void seen_block_see(struct seen_block *block, uint32_t *load, uint32_t node, uint32_t pages, bool written,
                    uint32_t age);

/* BLOCK is on NODE, or to come there: it is in the node's load if it has several users and is not replicated; NOW:
 * clock_now ns. */
void seen_block_place(struct seen_block *block, uint32_t nodes, uint32_t *load, uint32_t node, uint64_t now);

/* BLOCK is in no load any more. */
void seen_block_leave(struct seen_block *block, uint32_t *load);

/* Whether BLOCK, which is HERE and which a policy wants on the node TO in the period AGE, could not move there, or
 * nowhere, in one of the last SEEN_STUCK periods: what cannot move is not tried again with each report. What cannot
 * move may still get copies (SEEN_REPLICATE). */
bool seen_block_stuck(struct seen_block *block, uint32_t here, uint32_t to, uint32_t age);

/* BLOCK is about to move, or to get copies. Returns how often it has lately, up to SEEN_DEAR. */
uint32_t seen_block_move(struct seen_block *block);

/* A page of BLOCK could not move to NODE, or not to any (SEEN_ANY_NODE), in the period until which it is aged. */
void seen_block_try(struct seen_block *block, uint32_t node);

#endif
