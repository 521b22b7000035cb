/* Creation and destruction of a space on one kernel, with all parts of its struct space, and joining kernels. */
#ifndef MM_LIFE_LIFE_H
#define MM_LIFE_LIFE_H

#include <stdint.h>

#include "mm/space/space.h"

/* Creates the space ID on this kernel, with one user; HOME is the home of its group. No message handler finds it before
 * it is published (mm/space/space.h); until then another space with the same id may be in use. NULL: no memory. */
struct space *space_create(uint64_t id, uint32_t home);
/* Removes a user. The last one takes the space out of the table, if it is there, and frees all that this kernel holds
 * for it. By then no other kernel may map pages that this one owns, and no program may use its tables. Tasks only;
 * waits. */
void space_destroy(struct space *space);
/* Not the home, and no thread of the space's group is on this kernel: takes the space out of the table, to be destroyed
 * at once, if this kernel has never had a frame of it and has no lease, and nobody uses it here: true. Other kernels
 * may go on to use theirs; to them, this kernel is as one that no thread has reached yet. */
bool space_retire_empty(struct space *space);
/* Home only: makes KERNEL a member. Returns the mode that KERNEL passes to space_mode_note. */
uint64_t space_join(struct space *space, uint32_t kernel);
/* The number of spaces on this kernel, published or not. */
uint64_t space_count(void);

#endif
