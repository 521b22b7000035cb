/* The backing of an area: one word that names the object whose pages the area maps, and the page of the object at the
 * area's start; the following pages of the area are the following pages of the object. There are three kinds:
 * - nothing: private memory, whose pages are zero at first and belong to one address space;
 * - a file: the pages of an object that one kernel keeps. One bit says that the object is never written through the
 *   area. As a signed number the word is positive. mm/file/file_map.md.
 * - anonymous memory that processes share (MAP_SHARED): nobody keeps an object, the word only gives each page a name
 *   that is the same in all processes and on all kernels, and that stays when its frame changes. As a signed number the
 *   word is negative. mm/area/object.md. */
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

/* Anonymous memory: this bit, the role (tasks/role/role.h) of the kernel that has made the mapping, the class of its
 * size, and the number of the page. A mapping of class C has four times 4^C consecutive numbers, from a multiple of
 * that on. The object's last page has the last number of the first quarter, so that each number tells whether it is
 * behind the end of its object; no page has such a number, but an area may, as it may be larger than its object. */
#define BACKING_ANONYMOUS (1ull << 63)
#define BACKING_ROLE_SHIFT 53
#define BACKING_ROLES 1024u
#define BACKING_CLASS_SHIFT 48
#define BACKING_CLASSES 19u
#define BACKING_NUMBERS (1ull << BACKING_CLASS_SHIFT)

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

static inline bool backing_is_file(uint64_t backing)
{
    return (int64_t)backing > 0;
}

static inline bool backing_is_anonymous(uint64_t backing)
{
    return (int64_t)backing < 0;
}

/* A new backing for an anonymous shared mapping of PAGES pages (1 to 4^18), made by the kernel with ROLE. No two
 * mappings of a kernel have a page in common until 2^46 pages of mappings of a size class have been made. Any
 * context. */
uint64_t backing_anonymous(uint32_t role, uint64_t pages);

static inline uint32_t backing_role(uint64_t backing)
{
    return (uint32_t)(backing >> BACKING_ROLE_SHIFT) % BACKING_ROLES;
}

/* A quarter of the numbers of the mapping of BACKING, which is anonymous. */
static inline uint64_t backing_quarter(uint64_t backing)
{
    return 1ull << 2 * (backing >> BACKING_CLASS_SHIFT & 31);
}

/* The pages of the object of BACKING, which is anonymous, from the page that it names on; 0: that one is behind the end
 * of the object, and has no memory. */
static inline uint64_t backing_left(uint64_t backing)
{
    uint64_t quarter = backing_quarter(backing);

    return (backing & 3 * quarter) != 0 ? 0 : quarter - (backing & (quarter - 1));
}

/* True when an area of PAGES pages whose first page has BACKING may become one of MORE pages, or there may be a second
 * one of MORE pages. The pages that are added must be behind the end of the object: if they are pages of the object
 * that have been unmapped, or are mapped elsewhere, a second page would have the name. A file's may be anything. */
static inline bool backing_may_grow(uint64_t backing, uint64_t pages, uint64_t more)
{
    uint64_t quarter = backing_quarter(backing);

    return !backing_is_anonymous(backing) || more <= pages ||
           (backing_left(backing) <= pages && more < 4 * quarter - (backing & (4 * quarter - 1)));
}

/* True when the object exists for ever, so that no reference to it is needed. */
static inline bool backing_stays(uint64_t backing)
{
    return backing_object(backing) == BACKING_VDSO; /* of anonymous memory that is a greater number */
}

/* The name of the page that BACKING, a file's, begins with (mm/frame/object_page.h): without flags. */
static inline uint64_t backing_name(uint64_t backing)
{
    return backing & ~(BACKING_READ_ONLY | BACKING_ATTACHED);
}

/* The backing with its kernel and object only: neither page nor flags. All anonymous memory of a class and a kernel is
 * one object. */
static inline uint64_t backing_whole(uint64_t backing)
{
    return backing_is_anonymous(backing) ? backing & ~(BACKING_NUMBERS - 1)
                                         : backing & ~(BACKING_PAGES - 1) & ~(BACKING_READ_ONLY | BACKING_ATTACHED);
}

static inline bool backing_attached(uint64_t backing)
{
    return (backing & (BACKING_ANONYMOUS | BACKING_ATTACHED)) == BACKING_ATTACHED;
}

static inline uint64_t backing_page(uint64_t backing)
{
    return backing & ((backing_is_anonymous(backing) ? BACKING_NUMBERS : BACKING_PAGES) - 1);
}

/* The backing of the page that lies BYTES after the page of BACKING (before it if negative). */
static inline uint64_t backing_at(uint64_t backing, int64_t bytes)
{
    return backing == BACKING_NONE ? BACKING_NONE : backing + (uint64_t)(bytes / (int64_t)PAGE_SIZE);
}

#endif
