/* The strategies of the distributed lock. */
#ifndef MM_LOCK_INTERNAL_H
#define MM_LOCK_INTERNAL_H

#include "mm/space/strategy.h"

extern const struct space_locking space_lock_home;
extern const struct space_locking space_lock_lamport;
void space_lock_home_init(void);
void space_lock_lamport_init(void);

#endif
