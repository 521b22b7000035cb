/* Objects of this kernel (files) that programs on any kernel may map. mm/ does not know what they are; kernel/fs
 * registers functions for them. The frame of an object's page is the one that contains the object's bytes, so mappings
 * of a file and reads and writes of it see the same. The object has a reference of its own to each of its frames, so
 * that no program's reference to it is the only one. mm/file/file_map.md. */
#ifndef MM_FILE_OBJECT_H
#define MM_FILE_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/mempolicy/mempolicy.h"

struct file_stamps;
struct frame_reference;

/* How a page is asked for. */
struct file_want {
    bool written;                  /* a thread is about to write to it, which changes the object's times */
    bool placed;                   /* if it is new, it gets any frame of this kernel */
    bool last;                     /* no kernel has memory where it is wanted: this one gives up what it can */
    const struct placement *where; /* else where it is wanted; NULL: as the current thread's policy says */
    uint64_t address;              /* of the page in the thread's space; if WHERE is NULL */
    struct placement elsewhere;    /* set with -EXDEV */
};

/* Where a look at the frames of all objects stands; {0} at first. Places have an order: by part, object, page. */
struct object_place {
    uint32_t part;
    uint64_t object, page; /* OBJECT < 2^32 */
};
#define FILE_FRAMES_AT_ONCE 128u

/* The functions of this kernel's objects. None of them waits; they may be called under locks of spaces. */
struct file_objects {
    /* Sets *FRAME to the frame of page PAGE and counts a reference for the caller; WRITE: the page may be written.
     * -ENXIO: the page is behind the end, or there is no such object; -ENOMEM; -EAGAIN: the page moves
     * (mm/file/move.h); -EHWPOISON: it was lost with a kernel; -EXDEV: it has no frame, and is wanted where this kernel
     * has no memory. 1: the frame is another kernel's memory, and its owner has to count the reference. */
    int (*page)(uint32_t object, uint64_t page, bool write, struct file_want *want, uint64_t *frame);
    /* For each of the COUNT pages from PAGE on: sets *FOUND++ to its frame, which may be read only, and counts a
     * reference for the caller, if the page has a frame of this kernel and does not move; else sets it to 0. */
    void (*here)(uint32_t object, uint64_t page, uint32_t count, uint64_t *found);
    /* If the page has no frame, it gets that of NEW, zeroed, of any kernel, with a reference for the object, which
     * takes NEW over, and 1 is the answer. WRITTEN: as above. 0, and nothing has changed: it has a frame, or is lost,
     * or behind the end, or is read from the boot image; -ENOMEM, or -ENXIO: the user has too many pages, likewise. */
    int (*take)(uint32_t object, uint64_t page, bool written, struct frame_reference *new);
    /* New pages of the COUNT pages from FIRST on are placed by POLICY; DEFAULT: by that of whoever makes them. -ENXIO;
     * -ENOMEM: nothing has changed; also when the object's user has too much memory for policies, or the object as many
     * ranges as one may have: MAY_WRITE, whether the mapping may write the object, makes it more. */
    int (*place)(uint32_t object, uint64_t first, uint64_t count, bool may_write, const struct policy *policy);
    /* Sets *OUT to that policy of page PAGE. -ENXIO. */
    int (*policy)(uint32_t object, uint64_t page, struct policy *out);
    /* Copies the page to FRAME, which is this kernel's. -ENXIO, -EHWPOISON. */
    int (*copy)(uint32_t object, uint64_t page, uint64_t frame);
    /* Returns a bit for each of the COUNT (at most 64) pages from PAGE on whose bytes are in memory. */
    uint64_t (*resident)(uint32_t object, uint64_t page, uint32_t count);
    /* If FRAME is the page's frame, and does not move, the page moves from now on: until MOVE_END nobody gets its frame
     * or writes to it by a call. */
    bool (*move_begin)(uint32_t object, uint64_t page, uint64_t frame);
    /* The page, which had FRAME at MOVE_BEGIN, moves no more. NEW, which the object takes over, has its new frame, of
     * any kernel, or 0: it stays. The reference to the other frame is dropped. False: the object has lost FRAME
     * meanwhile; it may have another one, which may move. */
    bool (*move_end)(uint32_t object, uint64_t page, uint64_t frame, struct frame_reference *new);
    /* Calls EACH for the next FILE_FRAMES_AT_ONCE frames of objects at most, from PLACE on, and moves it behind them.
     * From the first call to the last, all programs are quiesced, and nothing that they have begun is left to a worker:
     * no object goes. False: there are no more. */
    bool (*some)(struct object_place *place, void (*each)(uint64_t frame, void *context), void *context);
    /* Of the next frames, likewise, each of another kernel for which COPY_OF returns another one is replaced by that.
     */
    bool (*replace)(struct object_place *place, uint64_t (*copy_of)(const void *context, uint64_t frame),
                    const void *context);
    /* KERNEL has died, and its memory with it: pages among the next ones that are there are lost. */
    bool (*lose)(struct object_place *place, uint32_t kernel);
    /* Changes the number of grants of the object to KERNEL by MORE. STAMPS: those of KERNEL's attached areas, or NULL.
     * -ENXIO, -ENOMEM: not counted. */
    int (*hold)(uint32_t object, uint32_t kernel, int64_t more, const struct file_stamps *stamps);
};

/* Registers WHAT as the functions of this kernel's objects. Once. */
void file_objects_serve(const struct file_objects *what);

/* As above, for the page or the object of BACKING; -ENXIO also if it is not this kernel's. Any context. */
int file_object_page(uint64_t backing, struct file_want *want, uint64_t *frame);
void file_object_here(uint64_t backing, uint32_t count, uint64_t *found);
int file_object_place(uint64_t backing, uint64_t count, const struct policy *policy);
int file_object_policy(uint64_t backing, struct policy *out);
/* FRAME, of any kernel, has a reference for the object: as `take` above. */
int file_object_take(uint64_t backing, bool written, uint64_t frame);
int file_object_copy(uint64_t backing, uint64_t frame);
/* As above; false also if the object has gone, and for the first if it is not this kernel's. */
bool file_object_move_begin(uint64_t backing, uint64_t frame);
bool file_object_move_end(uint64_t backing, uint64_t frame, struct frame_reference *new);
/* 0 if the object is not this kernel's. Any context. */
uint64_t file_object_resident(uint64_t backing, uint32_t count);
int file_object_hold(uint64_t backing, uint32_t kernel, int64_t more, const struct file_stamps *stamps);
/* As above for all frames, in slices. Tasks only. */
void file_objects_replace(uint64_t (*copy_of)(const void *context, uint64_t frame), const void *context);
void file_objects_lose(uint32_t kernel);
bool file_objects_some(struct object_place *place, void (*each)(uint64_t frame, void *context), void *context);

#endif
