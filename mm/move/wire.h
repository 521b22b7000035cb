/* Payloads of SPACE_FRAMES: mm/move/move.md. The other messages of a move are operations on a space (mm/space/wire.h).
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
#define MOVE_BACKED 4ull /* of a mapping of a file */

_Static_assert(sizeof(struct msg_space_frames) == 24, "wire format");
_Static_assert(sizeof(struct msg_space_word) == 8, "wire format");

#endif
