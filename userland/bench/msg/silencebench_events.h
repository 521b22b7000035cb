/* silencebench: events of files for which many wait, and large sets of files. */
#ifndef USERLAND_SILENCEBENCH_EVENTS_H
#define USERLAND_SILENCEBENCH_EVENTS_H

/* Threads that wait for an event of one file: here by poll, by read, or in sets of their own; by read on another
 * kernel. */
void events_make_polls(void);
void events_make_reads(void);
void events_make_sets(void);
void events_make_reads_elsewhere(void);
/* The event: all wake up. */
void events_raise(void);
/* A byte: all wake up that read, and one finds it. */
void events_raise_byte(void);

/* Threads that read from a file of another kernel, and wait there; and the death of that kernel. */
void events_make_reads_of_other(void);
void events_kill_other(void);

/* Many files that are not ready, and a poll of them that waits for a millisecond, here and from another kernel. */
void events_make_many_polled(void);
void events_poll_many(void);
void events_poll_many_elsewhere(void);

/* A set of many files, all of them ready, and the same whose only descriptor a process of another kernel closes. */
void events_make_large_set(void);
void events_wait_large_set(void);
void events_close_large_set(void);
void events_make_large_set_elsewhere(void);
void events_close_large_set_elsewhere(void);

#endif
