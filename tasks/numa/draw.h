/* Threads that move to the memory that they use, at the home of their process: mm/seen/draw.md. */
#ifndef TASKS_NUMA_DRAW_H
#define TASKS_NUMA_DRAW_H

#include <stdint.h>

/* Reads the load boards of all kernels, and sets seen_room by them. */
void numa_look_for_room(void);
/* If the policy of the process ID, at home here, wants threads of it on another node, asks the kernel where they are to
 * move one. Waits for that kernel. Tasks only. */
void numa_draw(uint64_t id);

#endif
