/* Memory for kernel objects: power-of-two size classes up to half a page carved from single frames, larger ones in
 * whole frames. */
#ifndef MM_FRAME_HEAP_H
#define MM_FRAME_HEAP_H

#include <stddef.h>
#include <stdint.h>

/* SIZE bytes of zeros, aligned to the smaller of SIZE's power of two and a page; NULL when there is no memory or SIZE
 * is over 4 MiB. Never waits. */
void *heap_alloc(size_t size);
/* The same with whatever was there before, for what is written as a whole anyway. */
void *heap_alloc_unset(size_t size);
/* Gives back what one of them returned, with the same SIZE. NULL is ignored. */
void heap_free(void *object, size_t size);

/* Objects in use, and the frames that the heap has: those of small objects, and a few more that count as such,
 * stay with it. */
struct heap_stats {
    uint64_t small, large; /* objects */
    uint64_t small_frames, large_frames;
};
void heap_stats(struct heap_stats *out);

#endif
