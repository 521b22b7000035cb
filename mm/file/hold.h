/* Holds: the objects, of any kernel, to which areas of spaces at home here refer (mm/area/backing.h). An object exists
 * as long as an area refers to it. The object's kernel counts the grants that it has given to each kernel; a home
 * counts, for each object, the areas, and gives all grants back when none is left. Areas made by shmat
 * (BACKING_ATTACHED) are also counted separately, with the time and process of the last one made and of the last one
 * removed: mm/file/file_map.md, kernel/ipc/sysv/shm.md.
 *
 * Functions wait only where noted. The lock comes after space->lock. */
#ifndef MM_FILE_HOLD_H
#define MM_FILE_HOLD_H

#include <stdbool.h>
#include <stdint.h>

/* The last time that an attached area of an object was made or removed, and by which process. */
struct file_stamp {
    uint64_t time; /* ns since 1970; 0: never */
    uint32_t process;
};

struct file_stamps {
    struct file_stamp came, went; /* made, removed */
};

/* What a home knows about an object. */
struct file_held {
    uint32_t granted; /* the grants that this home has; in answers to queries, none are on their way back */
    uint32_t attached;
    struct file_stamps stamps;
};

/* Registers the message, and area_refers as the counter of areas. Once. */
void file_hold_init(void);

/* Adds a user, which counts like an area, of BACKING's object on this kernel, until file_hold_end. MAKE: it may be the
 * first user. -ENOMEM; -EFAULT: it would be the first, and MAKE is not set. */
int file_hold_begin(uint64_t backing, bool make);
void file_hold_end(uint64_t backing);
/* Counts MORE grants of the object, which has a user here, to this kernel. */
void file_hold_grant(uint64_t backing, uint32_t more);
/* Counts an area that a fork's child is to get, with a grant that this function requests of the object's kernel.
 * -ENXIO: there is no such object; -ENOMEM. PROCESS: the parent, for the stamp of an attached area. Tasks only; waits.
 */
int file_hold_take(uint64_t backing, uint32_t process);
/* The same without a grant, when the child has an area of the object already. */
int file_hold_take_more(uint64_t backing, uint32_t process);
/* Undoes one of these: the area is not made. */
void file_hold_untake(uint64_t backing, uint32_t process);
/* Gives a grant to KERNEL, which it does not need, back to the object's kernel. Tasks only; waits. */
void file_hold_return(uint64_t backing, uint32_t kernel);

/* Sets *HELD to what KERNEL, any kernel, knows about the object behind BACKING, when all grants that KERNEL has given
 * back have reached the object's kernel. 0 or a negative errno. Tasks only; waits. */
int file_hold_ask(uint32_t kernel, uint64_t backing, struct file_held *held);
/* Sets each stamp of TO to the later one of TO and OTHER. */
void file_stamps_join(struct file_stamps *to, const struct file_stamps *other);
/* Joins STAMPS with those of the object, which has a user here. */
void file_hold_stamp(uint64_t backing, const struct file_stamps *stamps);

/* Calls EACH for every object that is held here. All programs are quiesced. */
void file_hold_each(void (*each)(void *context, uint64_t backing, const struct file_held *held), void *context);
/* The same at any time, with the lock: EACH must neither wait nor call anything of a space or a file. */
void file_hold_look(void (*each)(void *context, uint64_t backing, const struct file_held *held), void *context);

#endif
