/* How a space begins on a kernel, who joins it, and how it ends here: what all parts of a struct space need at its
 * beginning, and give back. */
#ifndef MM_LIFE_LIFE_H
#define MM_LIFE_LIFE_H

#include <stdint.h>

#include "mm/space/space.h"

/* Makes the space ID on this kernel, for one user; HOME is the home of its group. Nobody finds it before it is
 * published (mm/space/space.h): another with the same id may be in use. NULL without memory. */
struct space *space_create(uint64_t id, uint32_t home);
/* One user less. The last one takes the space out of the table, if it is there, and frees everything this kernel holds
 * for it: then no kernel maps its pages any more, and no CPU has its tables loaded. Tasks only. */
void space_destroy(struct space *space);
/* Home only: KERNEL is a member from now on. Returns the mode that it gives to space_mode_note. */
uint64_t space_join(struct space *space, uint32_t kernel);
/* How many spaces are here, published or not. */
uint64_t space_count(void);

#endif
