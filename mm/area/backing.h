/* The backing of an area: nothing, so that its pages are zero at first, or the pages of an object (a file) that one
 * kernel keeps. One word names the object's kernel, the object, and the page of the object at the area's start; the
 * following pages of the area are the following pages of the object. One bit says that the object is never written
 * through the area. As a signed number the word is never negative. mm/file/file_map.md. */
#ifndef MM_AREA_BACKING_H
#define MM_AREA_BACKING_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/limits.h"

#define BACKING_NONE 0ull
#define BACKING_OBJECTS (1u << 17)         /* a kernel's objects are numbered from 1 to BACKING_OBJECTS - 1 */
#define BACKING_VDSO (BACKING_OBJECTS - 1) /* an object of kernel 0: the pages of kernel/vdso/pages.h */
#define BACKING_PAGES (1ull << 38)         /* the most pages of an object */
#define BACKING_ATTACHED (1ull << 38)      /* mapped by shmat: each area is counted (mm/file/hold.h), none are merged */
#define BACKING_READ_ONLY (1ull << 39)

#define BACKING_KERNEL_SHIFT 40
#define BACKING_OBJECT_SHIFT 46

_Static_assert(KERNELS_MAX <= 1 << (BACKING_OBJECT_SHIFT - BACKING_KERNEL_SHIFT), "a kernel's number fits");

static inline uint64_t backing_make(uint32_t kernel, uint32_t object, uint64_t page)
{
    return (uint64_t)object << BACKING_OBJECT_SHIFT | (uint64_t)kernel << BACKING_KERNEL_SHIFT | page;
}

static inline uint32_t backing_kernel(uint64_t backing)
{
    return (uint32_t)(backing >> BACKING_KERNEL_SHIFT) & ((1u << (BACKING_OBJECT_SHIFT - BACKING_KERNEL_SHIFT)) - 1);
}

static inline uint32_t backing_object(uint64_t backing)
{
    return (uint32_t)(backing >> BACKING_OBJECT_SHIFT);
}

/* True when the object exists for ever, so that no reference to it is needed. */
static inline bool backing_stays(uint64_t backing)
{
    return backing_object(backing) == BACKING_VDSO;
}

/* The backing with its kernel and object only: neither page nor flags. */
static inline uint64_t backing_whole(uint64_t backing)
{
    return backing & ~(BACKING_PAGES - 1) & ~(BACKING_READ_ONLY | BACKING_ATTACHED);
}

static inline bool backing_attached(uint64_t backing)
{
    return (backing & BACKING_ATTACHED) != 0;
}

static inline uint64_t backing_page(uint64_t backing)
{
    return backing & (BACKING_PAGES - 1);
}

/* The backing of the page that lies BYTES after the page of BACKING (before it if negative). */
static inline uint64_t backing_at(uint64_t backing, int64_t bytes)
{
    return backing == BACKING_NONE ? BACKING_NONE : backing + (uint64_t)(bytes / (int64_t)PAGE_SIZE);
}

#endif
