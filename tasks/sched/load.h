/* The load board: what each kernel wants the others to know without asking: one cache line that it alone writes. It is
 * brought up to date when a program's thread starts, when a CPU halts or leaves its halt, and by interrupts of the
 * scheduler, not at every switch: it lags, and is a hint. */
#ifndef TASKS_SCHED_LOAD_H
#define TASKS_SCHED_LOAD_H

#include <stdint.h>

struct cpu_queue;

/* As read; all zero of a kernel that has not begun. */
struct load_view {
    uint64_t load; /* of its threads that are ready or run: tasks/sched/fair/fair.h */
    uint64_t free; /* frames */
    uint64_t time; /* when this was so, clock_now ns */
};

/* The calling CPU, whose queue this is, tells its load if it has changed. */
void load_publish(struct cpu_queue *queue);
/* Reads KERNEL's. What the other kernel claims is brought into range. */
void load_read(uint32_t kernel, struct load_view *view);

#endif
