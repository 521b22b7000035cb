/* Pages of a file that come along with one that is read: a fault maps those around it, too, if the file has frames for
 * them (mm/file/file_map.md). */
#ifndef MM_FAULT_AROUND_H
#define MM_FAULT_AROUND_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/area/area.h"
#include "mm/area/backing.h"
#include "mm/space/space.h"

/* The aligned blocks of pages that are mapped at once: after a fault here, as on Linux (fault_around_bytes), and for
 * another kernel, whose question costs as much as the faults of some pages. */
#define AROUND_HERE 16u
#define AROUND_ASKED 32u

/* True if pages of AREA may be mapped that nobody has touched. Not those of a file that may be written through it: the
 * first write to such a page has to change the file's times. */
static inline bool around_may_come(const struct area *area)
{
    return !backing_is_file(area->backing) ||
           (area->backing & (BACKING_READ_ONLY | BACKING_ATTACHED)) == BACKING_READ_ONLY;
}

/* After a page of a file, PAGE of AREA, has been mapped for reading: maps the file's pages in its block of PAGES, at
 * most AROUND_ASKED, too, by owning entries. Only at the home of SPACE, of a file of this kernel, and where neither a
 * lock request nor a lease is. Allocates nothing, but names for frames. */
void around_map_locked(struct space *space, uint64_t page, const struct area *area, uint32_t pages);

#endif
