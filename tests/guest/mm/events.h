/* For test programs: what a kernel has counted of the caller's memory (docs/events.md), as /proc/self/kettle has it. */
#ifndef TESTS_GUEST_EVENTS_H
#define TESTS_GUEST_EVENTS_H

/* How often NAME has happened on KERNEL; 0 where nothing is told. Allocates nothing. */
unsigned long events_of(int kernel, const char *name);
/* The sum over all kernels that run. */
unsigned long events_everywhere(const char *name);
/* The sum of the numbers behind each WORD in the report at PATH, as of all kernels; 0 where it is not. Allocates
 * nothing.
 */
long events_reported(const char *path, const char *word);

#endif
