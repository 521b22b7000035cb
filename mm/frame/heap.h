/* Memory for kernel objects. Objects of up to half a page are carved from single frames, in size classes of powers of
 * two; larger objects get whole frames. */
#ifndef MM_FRAME_HEAP_H
#define MM_FRAME_HEAP_H

#include <stddef.h>
#include <stdint.h>

/* Allocates SIZE zeroed bytes, aligned to a page or, if that is less, to SIZE rounded up to a power of two. NULL: there
 * is no memory but the reserve, or SIZE is over 4 MiB. Never waits. */
void *heap_alloc(size_t size);
/* The same without zeroing, for objects that the caller fills completely. */
void *heap_alloc_unset(size_t size);
/* As heap_alloc, and may take the reserve: for the few objects without which a request that nobody can refuse, such as
 * an end, a wakeup or a notice, could not be passed on. They must be freed soon, and programs must not be able to have
 * many of them at a time. */
void *heap_alloc_sure(size_t size);
/* Frees what one of them returned, with the same SIZE. NULL is ignored. */
void heap_free(void *object, size_t size);

/* Objects in use, and the frames that the heap has. Frames of small objects return with their last object, but for one
 * of each size; the few frames kept for objects of one or two pages are counted in small_frames, too. */
struct heap_stats {
    uint64_t small, large; /* objects */
    uint64_t small_frames, large_frames;
};
void heap_stats(struct heap_stats *out);

#endif
