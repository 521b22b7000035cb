/* Moving pages to other nodes while programs use them: readers go on reading, and writers of a page wait until it has
 * moved. mm/move/move.md has the protocol. All calls that move pages come here. */
#ifndef MM_MOVE_MOVE_H
#define MM_MOVE_MOVE_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/message.h"

/* What is to move where. Both functions are called by the task that moves, with pages locked, and do not wait. */
struct space_moves {
    /* The nodes to which the page at PAGE, which is on NODE, may go; 0: it stays. */
    uint64_t (*wanted)(void *context, uint64_t page, uint32_t node);
    /* What has become of the page: its node now, or -EFAULT: there is no area, the area is the vDSO's, or
     * private memory that was never touched; -ENOENT: shared memory or a file that was never touched; -EBUSY: it is a
     * file's page that is mapped shared, a space that this kernel did not find shares it, another kernel does not
     * map the new frame, or a kernel that was asked has died or refuses; -EACCES: other processes
     * have its frame, and ALL is not set; -ENOMEM: there is no frame on these nodes, or no memory to ask. */
    void (*done)(void *context, uint64_t page, int result);
    void *context;
    bool marked; /* only pages that are marked (lazy.md) move, and others are not reported; the marks go in any case */
    bool all; /* a page whose frame other processes have is moved, too: of private memory, this process gets a copy of
               * its own; shared memory moves in all of them */
};

/* Another place that may share pages which move: in another space, or in the mover's own. */
struct space_sharer {
    uint64_t space; /* its id */
    uint64_t start; /* where it has the page that was asked for */
    uint64_t token; /* of its home, while pages are locked there */
    uint32_t home;
    bool copies;                      /* its area is private: it may have a copy, and not the page */
    bool begun;                       /* pages are locked there */
    uint64_t words[SPACE_CHOSEN_MAX]; /* what it has there, as space_move_join says */
};

/* How the mover reaches other spaces, each through its home. All of them wait. */
struct space_sharing {
    /* Stores at SHARERS at most MOST places at which spaces may have the page named NAME (mm/area/backing.h). Returns
     * how many. */
    uint32_t (*find)(uint64_t name, struct space_sharer *sharers, uint32_t most);
    /* SHARER's home performs space_move_join, with the process kept from ending, until END; -ESRCH: it does not have
     * the page at START any more. */
    int (*begin)(struct space_sharer *sharer, uint64_t name, uint32_t count, uint64_t *words);
    /* SHARER's home performs space_move_round. -EHOSTDOWN: it has died; any other errno: it refuses. */
    int (*round)(const struct space_sharer *sharer, enum msg_type operation, uint64_t chosen, uint64_t frame);
    void (*end)(const struct space_sharer *sharer);
};
/* Once. */
void space_move_share_by(const struct space_sharing *how);

struct moving;
/* At the home of SPACE, for a mover that may be elsewhere: locks COUNT pages (1 to 64) from START on, which are of one
 * leaf table, and sets WORDS to what is there: a frame, or 0, with MOVE_* bits (mm/move/wire.h). -EPROTO, -ENOMEM:
 * nothing is locked. Waits, but for no lock of another task: -EAGAIN, and nothing is locked. */
int space_move_join(struct space *space, uint64_t start, uint32_t count, struct moving **moving, uint64_t *words);
/* Performs OPERATION on the chosen pages, on all kernels that may map them. 0 or a negative errno. Waits. */
int space_move_round(struct moving *moving, enum msg_type operation, uint64_t chosen, uint64_t frame);
/* Unlocks the pages, and frees MOVING. */
void space_move_leave(struct moving *moving);

/* Moves the pages of [START, END), whole pages below USER_END, and reports each. 2 MiB that are mapped as one large
 * page and go to one node stay one, if that node has a block. Waits, and looks for messages. */
void space_move(struct space *space, uint64_t start, uint64_t end, const struct space_moves *moves);

/* The same for PAGE alone, or, if this kernel maps it by a large page, for its 2 MiB. */
void space_move_page(struct space *space, uint64_t page, const struct space_moves *moves);

/* Where a page may be first in [START, END), as far as this kernel knows without asking; END: nowhere. A loop over an
 * area that is large and nearly empty leaves out what precedes it. */
uint64_t space_move_next(struct space *space, uint64_t start, uint64_t end);

/* Registers the message. Once. */
void space_move_init(void);

#endif
