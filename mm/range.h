/* Ranges of an address space that a task can have for itself in the whole machine. */
#ifndef MM_RANGE_H
#define MM_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/limits.h"
#include "kernel/arch/x86_64/layout.h"

/* The pages of [start, end), or what lies above USER_END and stands for something else. */
struct space_range {
    uint64_t start, end;
};
/* All pages of a space. The program break has a lock that this one does not overlap: whoever moves the break locks it
 * and then the pages between, and would wait for a lock of everything that waits for the first. */
#define SPACE_HEAVY ((struct space_range){0, USER_END + 1})
#define SPACE_BREAK_LOCK ((struct space_range){USER_END + PAGE_SIZE, USER_END + 2 * PAGE_SIZE})

static inline bool range_overlaps(struct space_range a, struct space_range b)
{
    return a.start < b.end && b.start < a.end;
}

#endif
