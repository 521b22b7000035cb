/* The load board: each kernel publishes its load in one cache line that it alone writes, and the others read it without
 * asking. The line is updated when a program's thread starts, when a CPU halts or leaves its halt, and by interrupts of
 * the scheduler, not at every switch: it lags, and is only a hint. */
#ifndef TASKS_SCHED_LOAD_H
#define TASKS_SCHED_LOAD_H

#include <stdint.h>

struct cpu_queue;

/* The line of a kernel as read; all zero if the kernel has not begun. */
struct load_view {
    uint64_t load; /* load of its threads that are ready or run: tasks/sched/fair/fair.h */
    uint64_t free; /* frames */
    uint64_t time; /* when the line was written, clock_now ns */
};

/* Publishes the load of the CPU whose queue this is, if it has changed. */
void load_publish(struct cpu_queue *queue);
/* Reads the line of KERNEL, and clamps its values. */
void load_read(uint32_t kernel, struct load_view *view);

#endif
