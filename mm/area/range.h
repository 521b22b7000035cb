/* Ranges of an address space, which a task can lock against all other tasks of the machine (mm/lock). */
#ifndef MM_AREA_RANGE_H
#define MM_AREA_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/limits.h"
#include "kernel/arch/x86_64/base/layout.h"

/* The pages of [start, end). A task that has locked a range must not lock a second one: a fork that queues for the
 * whole space in between would wait for the first lock and block the second, a deadlock. */
struct space_range {
    uint64_t start, end;
};
/* All pages of a space. */
#define SPACE_HEAVY ((struct space_range){0, USER_END + 1})

static inline bool range_overlaps(struct space_range a, struct space_range b)
{
    return a.start < b.end && b.start < a.end;
}

/* True when [ADDRESS, ADDRESS + SIZE) lies in the lower half of the address space, which belongs to programs. */
static inline bool user_range(uint64_t address, uint64_t size)
{
    return address < USER_END && size <= USER_END - address;
}

#endif
