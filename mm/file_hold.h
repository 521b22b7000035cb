/* Objects that spaces at home with this kernel refer to (mm/backing.h), of any kernel: an object stays as long as an
 * area does. Its kernel counts what it has granted to each kernel; here areas are counted, by object, and when none is
 * left all that was granted is given back. mm/file_map.md.
 *
 * Nothing waits but what says so; the lock comes after space->lock. */
#ifndef MM_FILE_HOLD_H
#define MM_FILE_HOLD_H

#include <stdbool.h>
#include <stdint.h>

/* Registers the message, and counts areas from now on. Once. */
void file_hold_init(void);

/* One user more of BACKING's object here, until file_hold_end: as an area is. MAKE: it may be the first. -ENOMEM;
 * -EFAULT: it would be the first. */
int file_hold_begin(uint64_t backing, bool make);
void file_hold_end(uint64_t backing);
/* The object, which has a user here, was granted so many times more to this kernel. */
void file_hold_grant(uint64_t backing, uint32_t more);
/* file_hold_begin, with a grant that the object's kernel is asked for. -ENXIO: there is no such object. Tasks only;
 * waits. */
int file_hold_take(uint64_t backing);
/* A grant that was given for spaces at home with KERNEL is not needed. Tasks only; waits. */
void file_hold_return(uint64_t backing, uint32_t kernel);

/* Calls EACH for every object that is held here. Programs stand still. */
void file_hold_each(void (*each)(void *context, uint64_t backing, uint32_t granted), void *context);
/* How many there are. */
uint64_t file_hold_count(void);

#endif
