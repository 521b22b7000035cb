/* Declarations that the files of mm/move share. */
#ifndef MM_MOVE_INTERNAL_H
#define MM_MOVE_INTERNAL_H

#include <stdint.h>

#include "mm/file/move.h"
#include "mm/frame/frame.h"
#include "mm/frame/reference.h"
#include "mm/lock/lock.h"
#include "mm/move/move.h"
#include "mm/move/wire.h"
#include "mm/space/entry.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/message.h"

#define MOVE_HAVING_OWN (1ull << 63) /* the place of the run itself */

/* A run of pages of a space that moves under one lock. */
struct moving {
    struct space *space;
    const struct space_moves *moves;
    struct sharing *sharing; /* NULL: the chosen pages are this space's alone */
    uint64_t having;         /* those of its places that have the chosen pages, a bit for each; MOVE_HAVING_OWN */
    struct file_moving file; /* if SHARING: the pages are a file's if BACKING is not 0 */
    struct space_lock lock;
    uint64_t start;
    uint64_t asked; /* where the caller has the page at START: there, or at another place of the space that shares it */
    uint32_t count;
    kernel_set others;                /* that may map one of the pages, besides the home and this kernel */
    kernel_set refused;               /* who has not mapped new frames, or has died then */
    struct msg_space_change change;   /* that all of them are asked for */
    int error;                        /* the first one of a round that is not a death */
    struct releasing old;             /* frames of other kernels that no kernel maps any more */
    struct frame_runs own;            /* such frames of this kernel */
    uint64_t nodes[SPACE_CHOSEN_MAX]; /* to which a page may go */
    uint64_t words[LEAF_ENTRIES];     /* move_find */
};

/* --- move.c --- */

/* Locks COUNT pages from START on, of one leaf table, and finds what is there. 0 or a negative errno: nothing is
 * locked. Waits; with TRIES, not for a lock of another task: -EAGAIN. */
int move_begin(struct moving *moving, uint64_t start, uint32_t count, bool tries);
void move_end(struct moving *moving);
/* The page with WORD is a file's, and is not mapped private. */
static inline bool move_is_of_file(uint64_t word)
{
    return (word & (MOVE_SHARED | MOVE_FILE)) == (MOVE_SHARED | MOVE_FILE);
}
/* The nodes to which page INDEX has to go; 0: it does not move, and that is reported. */
uint64_t move_choose(const struct moving *moving, uint32_t index);
/* Moves the pages of CHOSEN to their nodes, in all spaces that have them, and reports them. Waits. */
void move_chosen(struct moving *moving, uint64_t chosen);
void move_report_set(const struct moving *moving, uint64_t set, int result);

/* The pages move in a file, too. */
static inline bool move_in_file(const struct moving *moving)
{
    return moving->sharing != NULL && moving->file.backing != BACKING_NONE;
}

/* --- round.c --- */

/* What is reported of pages from START on that stay because a step has failed with ERROR: -ENOMEM if memory was short,
 * else -EBUSY. The log has what does not pass by itself, such as a kernel that has died or is faulty. */
int move_result_of(uint64_t start, int error);
/* Has every kernel that may map pages of CHOSEN, in all spaces that have them, perform OPERATION on its entries: the
 * home of a space first, then the others and this kernel. FRAME: for SPACE_REPLACE. 0 or a negative errno. Waits. */
int move_round(struct moving *moving, enum msg_type operation, uint64_t chosen, uint64_t frame);
/* Has all of them map the frames from FRAME on, and the file have these, if the pages are a file's. SET is 0 for all of
 * 512 pages. -EHOSTDOWN: a kernel has died; all others, and the file, have the new frames. Any other errno: a kernel,
 * or the file's, refuses, and the caller calls move_back. Waits. */
int move_replace(struct moving *moving, uint64_t set, uint64_t frame);
/* After such a refusal: has all of them map again what moving->words say, and the file keep it. 0: they do, or have
 * refused the new frames, so that the references to these are the mover's. A negative errno: a kernel that has mapped
 * the new ones refuses to go back, or one has died. Waits. */
int move_back(struct moving *moving, uint64_t set);

/* --- shared.c --- */

/* Moves the pages of SET, which several spaces share or which are a file's, in all spaces that have them, and reports
 * them. ALONE: no other space has them. RUN says where they are, and is not locked. Waits. */
void move_shared(const struct moving *run, uint64_t set, bool alone);
/* A round in the spaces of SHARING that have the pages: as move_round. */
int move_sharers_round(const struct sharing *sharing, uint64_t having, enum msg_type operation, uint64_t chosen,
                       uint64_t frame);

/* --- find.c, uses.c, lazy.c --- */

/* Sets WORDS to what the space has at each of COUNT pages from START on, which are of one leaf table and locked: a
 * frame with MOVE_* bits, or the bits alone: no frame, or the page of zeros; 0 for pages of the vDSO. -ENOMEM, -EPROTO.
 * Waits. */
int move_find(struct space *space, uint64_t start, uint32_t count, uint64_t *words);
/* Replaces each frame among the COUNT words (at most 512; 0: none) by the number of references to it, a file's own
 * among them, with MOVE_OF_FILE if a file's mapped page has, or had, the frame. One message to each owner. 0; -ENOMEM,
 * -EPROTO: the words are unspecified. Waits. */
int move_uses(uint64_t *words, uint32_t count);
/* Register the messages by which these ask, and what a touch of a marked page calls. */
void move_find_init(void);
void move_uses_init(void);
void move_lazy_init(void);

#endif
