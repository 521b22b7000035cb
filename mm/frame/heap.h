/* Memory for kernel objects. Objects of up to half a page are carved from single frames, in size classes of powers of
 * two; larger objects get whole frames. */
#ifndef MM_FRAME_HEAP_H
#define MM_FRAME_HEAP_H

#include <stddef.h>
#include <stdint.h>

/* Allocates SIZE zeroed bytes, aligned to a page or, if that is less, to SIZE rounded up to a power of two. NULL: there
 * is no memory, or SIZE is over 4 MiB. Never waits. */
void *heap_alloc(size_t size);
/* The same without zeroing, for objects that the caller fills completely. */
void *heap_alloc_unset(size_t size);
/* Frees what one of them returned, with the same SIZE. NULL is ignored. */
void heap_free(void *object, size_t size);

/* Objects in use, and the frames that the heap has. A frame goes back when its last object is freed, but for a few of
 * each size class, and a few that are kept for objects of one or two pages, which small_frames counts, too. */
struct heap_stats {
    uint64_t small, large; /* objects */
    uint64_t small_frames, large_frames;
};
void heap_stats(struct heap_stats *out);

#endif
