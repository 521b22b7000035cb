/* Payloads of SPACE_FRAMES and FRAME_USES: mm/move/move.md. The other messages of a move are operations on a space
 * (mm/space/wire.h).
 */
#ifndef MM_MOVE_WIRE_H
#define MM_MOVE_WIRE_H

#include <stdint.h>

struct msg_space_frames {
    uint64_t space;
    uint64_t start; /* page aligned */
    uint64_t count; /* pages, 512 at most, of one leaf table */
};

/* The answer: a word for each page, its frame and MOVE_* bits. */
struct msg_space_word {
    uint64_t word;
};
#define MOVE_COW 1ull    /* other spaces may have the frame */
#define MOVE_SHARED 2ull /* of shared memory */
#define MOVE_FILE 4ull   /* of a mapping of a file */
#define MOVE_MARKED 8ull /* it moves when it is touched: lazy.md */

/* FRAME_USES: at most 512 frames of the receiver, as uint64_t. The answer: one of these for each. */
struct msg_frame_uses {
    uint64_t uses; /* references, the file's own among them; with MOVE_OF_FILE, if a file's mapped page has the frame */
};
#define MOVE_OF_FILE (1ull << 32)

_Static_assert(sizeof(struct msg_space_frames) == 24, "wire format");
_Static_assert(sizeof(struct msg_space_word) == 8, "wire format");
_Static_assert(sizeof(struct msg_frame_uses) == 8, "wire format");

#endif
