/* Frames that a cache of this kernel keeps, beside the spaces that map them: each has one reference of the cache, so it
 * stays allocated, and copy-on-write never makes it writable. All sets of such frames are in one list: the audit counts
 * their references, and reports of memory their frames. */
#ifndef MM_FRAME_KEPT_H
#define MM_FRAME_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/lib/list.h"

struct frame_kept {
    struct list node; /* [k] the lock of kept.c: in the list of all sets */
    uint8_t **pages;  /* [o] the frames, in the direct map; heap, or NULL */
    size_t count;     /* [o] of frames */
    uint64_t number;  /* [k] the lock of kept.c: greater than those of all sets before it in the list */
};

/* Makes KEPT an empty set. */
void frame_kept_init(struct frame_kept *kept);
/* Extends KEPT to PAGES frames, consecutive ones where there are such; the contents of new ones are unspecified. The
 * frames are those of pages of programs: the reserve stays. -ENOMEM: nothing has changed. */
int frame_kept_extend(struct frame_kept *kept, size_t pages);
/* Drops the references of KEPT, which is empty then. Never waits. */
void frame_kept_drop(struct frame_kept *kept);
/* Is a frame of KEPT also mapped by a space? Then dropping KEPT frees less than it has. */
bool frame_kept_mapped(const struct frame_kept *kept);

/* Frames in all sets. */
uint64_t frame_kept_count(void);

/* Where a look at the frames of all sets stands; {0} at first. */
struct frame_kept_place {
    uint64_t number; /* of a set */
    size_t index;
};
/* Calls EACH for the next frames of all sets, some hundred at most, from PLACE on. False: there are no more. Between
 * two calls sets may come, grow and go: a frame that a set keeps during all of the calls comes once. EACH neither waits
 * nor allocates. */
bool frame_kept_some(struct frame_kept_place *place, void (*each)(uint64_t frame, void *context), void *context);

#endif
