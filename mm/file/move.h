/* Pages of files that move to other frames while programs map them: what the file's kernel does for the mover, and what
 * waits there until a page has moved. mm/move/move.md has the protocol. */
#ifndef MM_FILE_MOVE_H
#define MM_FILE_MOVE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/lib/list.h"

/* Registers the messages. Once. */
void file_move_init(void);

/* --- the mover; tasks only, they wait for the file's kernel --- */

/* Pages of a file that move. */
struct file_moving {
    uint64_t backing; /* the first of them: mm/area/backing.h */
    uint64_t token;   /* of the mover's kernel */
    uint64_t pages;   /* a bit for each of the 64 pages from BACKING on that moves */
};
/* Sets *MOVING to those of the COUNT (1 to 64) pages from BACKING on that are in FRAMES, by their order, at the file's
 * kernel, too; 0 in FRAMES: not wanted. Until file_move_end these stay in their frames, no space gets a reference to
 * them, and no call writes to them. 0; -ENOMEM or another negative errno: none moves. */
int file_move_begin(uint64_t backing, uint32_t count, const uint64_t *frames, struct file_moving *moving);
/* Those in CHOSEN move no more. Their frames are now those in a row from FRAME on, each with a reference for the file,
 * which this takes over; the file's references to the old ones are dropped. 0: they keep their frames. 0, or the
 * negative errno of a faulty kernel. */
int file_move_end(struct file_moving *moving, uint64_t chosen, uint64_t frame);

/* --- the file's kernel --- */

/* Waits until no page of the object of BACKING, this kernel's, moves that moves now. Tasks only. */
void file_move_wait(uint64_t backing);
/* The same for what does not wait: WOKEN is called when a move of OBJECT (backing_whole) ends, in any context and
 * without locks. False: no page of it moves now, and WOKEN is not called. Any context. */
struct file_waiter {
    struct list node;
    uint64_t object;
    void (*woken)(struct file_waiter *waiter);
};
bool file_move_await(struct file_waiter *waiter);
/* KERNEL has died: what it was moving stays in its frames. */
void file_move_lost(uint32_t kernel);

#endif
