/* Rounds in which all threads are after the same pages at once. Each function is called by the main thread, makes the
 * crew run, and returns false when something was found. */
#ifndef TESTS_GUEST_VM_RACE_H
#define TESTS_GUEST_VM_RACE_H

#include <stdbool.h>
#include <stdint.h>

/* All threads touch PAGES fresh pages for the first time, each at the same moment: one frame for all, or an addition of
 * one of them is lost. */
bool race_frames(int pages, uint64_t random);

/* All threads write to pages that a forked child has too: each is copied once, and the child's stays as it was. */
bool race_copies(uint64_t random);

/* The threads change one page in turn while all others use it and its neighbours: what they see is what one of the
 * states between the begin and the end of their access allows; a change that has returned is seen by all. */
bool race_changes(uint64_t random);

/* All threads map at once: one gets the place that all want, and places that the kernel chooses do not overlap. */
bool race_places(void);

/* A thread forks while one moves the break and others write: a child that sees a write sees all that came before it,
 * and none that comes later. */
bool race_order(void);

#endif
