/* The threads of the test: all do one job at the same time, and again. */
#ifndef TESTS_GUEST_VM_CREW_H
#define TESTS_GUEST_VM_CREW_H

#include <stdatomic.h>
#include <stdbool.h>

/* Starts the threads, vm_run.threads of them. False: the kernel refuses one. */
bool racers_start(void);

/* Each thread calls JOB with its index; returns when all have returned from it. CHANCE: thread i ends then, and is born
 * again before the next job, when bit i of REBORN is set. False when something was found, or a thread did not end. */
bool crew_run(void (*job)(int index), unsigned long reborn);

/* Ends the threads. */
void racers_end(void);

/* In a job: waits until all threads have come here, so that they go on at the same moment. They come equally often, and
 * leave the job when one of them has found something. */
void crew_meet(void);

#endif
