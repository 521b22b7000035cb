/* Waiting for memory to complete a change of which some kernel has done its part, so that it cannot be taken back:
 * mm/retrieve/retrieval.md, "Want of memory". */
#ifndef MM_CHANGE_AGAIN_H
#define MM_CHANGE_AGAIN_H

#include <stdbool.h>
#include <stdint.h>

/* Tries, a millisecond apart, after which memory is no longer expected. While the others clean up after a kernel that
 * has died, which waits for all threads with a change half made and has 20 s for all (kernel/machine/death.md), they
 * are few: a call makes at most five changes that may each try so often, one after the other, and others may wait for
 * it. */
#define SPACE_TRIES 10000u
#define SPACE_TRIES_DEATH 200u

/* [i] Whether the calling task uses an address space that outlives its own process: that of its parent, after a vfork.
 * NULL: it does not. */
extern bool (*space_outlives_task)(void);

/* Waits a moment. True: memory may be there now; false: it has not come in time, or the task's process is being killed
 * and its space ends with it. *TRIES is 0 at first, and goes on through all rounds of a change. */
bool space_try_again(uint32_t *tries);

#endif
