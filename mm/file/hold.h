/* Objects that spaces at home with this kernel refer to (mm/area/backing.h), of any kernel: an object stays as long as
 * an area does. Its kernel counts what it has granted to each kernel; here areas are counted, by object, and when none
 * is left all that was granted is given back. Areas that shmat made (BACKING_ATTACHED) are counted by themselves, too,
 * and it is known when the last one came and went, and of which process: mm/file/file_map.md, kernel/ipc/sysv/shm.md.
 *
 * Nothing waits but what says so; the lock comes after space->lock. */
#ifndef MM_FILE_HOLD_H
#define MM_FILE_HOLD_H

#include <stdbool.h>
#include <stdint.h>

/* When something happened last to attached areas of an object, and of which process they were. */
struct file_stamp {
    uint64_t time; /* ns since 1970; 0: never */
    uint32_t process;
};

struct file_stamps {
    struct file_stamp came, went;
};

/* What a home knows of an object. */
struct file_held {
    uint32_t granted; /* as often as it is known here; what is given back has been taken back */
    uint32_t attached;
    struct file_stamps stamps;
};

/* Registers the message, and counts areas from now on. Once. */
void file_hold_init(void);

/* One user more of BACKING's object here, until file_hold_end: as an area is. MAKE: it may be the first. -ENOMEM;
 * -EFAULT: it would be the first. */
int file_hold_begin(uint64_t backing, bool make);
void file_hold_end(uint64_t backing);
/* The object, which has a user here, was granted so many times more to this kernel. */
void file_hold_grant(uint64_t backing, uint32_t more);
/* For an area of a fork's child: file_hold_begin, with a grant that the object's kernel is asked for. -ENXIO: there is
 * no such object. PROCESS: the parent, if BACKING is attached. Tasks only; waits. */
int file_hold_take(uint64_t backing, uint32_t process);
/* The same without a grant: the child has an area of the object already. */
int file_hold_take_more(uint64_t backing, uint32_t process);
/* The area that one of these was for is not made. */
void file_hold_untake(uint64_t backing, uint32_t process);
/* A grant that was given for spaces at home with KERNEL is not needed. Tasks only; waits. */
void file_hold_return(uint64_t backing, uint32_t kernel);

/* What KERNEL, any, knows of the object behind BACKING, once all that it has given back has reached the object's
 * kernel: *HELD. -ENOMEM. Tasks only; waits. */
int file_hold_ask(uint32_t kernel, uint64_t backing, struct file_held *held);
/* TO has what is later of both. */
void file_stamps_join(struct file_stamps *to, const struct file_stamps *other);
/* The object has a user here: it has these stamps, too. */
void file_hold_stamp(uint64_t backing, const struct file_stamps *stamps);

/* Calls EACH for every object that is held here. Programs are quiesced. */
void file_hold_each(void (*each)(void *context, uint64_t backing, const struct file_held *held), void *context);
/* How many there are. */
uint64_t file_hold_count(void);

#endif
