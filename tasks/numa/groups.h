/* Telling the homes of spaces which threads of NUMA groups this kernel has: mm/seen/group.md. */
#ifndef TASKS_NUMA_GROUPS_H
#define TASKS_NUMA_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

/* Tells HOME how many threads of each group of the process ID are here, if there are any or were any when it was told
 * last. Returns whether it has told. Waits for the home. Tasks only. */
bool numa_tell_groups(uint64_t id, uint32_t home);

#endif
