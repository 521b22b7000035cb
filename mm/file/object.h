/* Objects: what programs of any kernel may map, and this kernel has (files). mm/ does not know what they are: kernel/fs
 * says. The frame of an object's page is the very one that the object has its bytes in, so who maps it and who reads or
 * writes the file see the same. The object has a reference of its own to each frame, so none is ever a program's alone.
 * mm/file/file_map.md. */
#ifndef MM_FILE_OBJECT_H
#define MM_FILE_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

struct file_stamps;

/* What can be mapped here. None of them waits; they may be called under locks of spaces. */
struct file_objects {
    /* The frame of page PAGE, with one reference counted, the caller's; WRITE: it may be written. -ENXIO: the page is
     * behind the end, or there is no such object; -ENOMEM. */
    int (*page)(uint32_t object, uint64_t page, bool write, uint64_t *frame);
    /* Fills FRAME, which is this kernel's, with the page instead. -ENXIO. */
    int (*copy)(uint32_t object, uint64_t page, uint64_t frame);
    /* Calls EACH for every frame that an object has. Programs are quiesced. */
    void (*each)(void (*each)(uint64_t frame, void *context), void *context);
    /* Spaces at home with KERNEL refer to the object MORE times more, or less: STAMPS has what is known of those, or is
     * NULL. -ENXIO, -ENOMEM: not counted. */
    int (*hold)(uint32_t object, uint32_t kernel, int64_t more, const struct file_stamps *stamps);
};

/* From now on WHAT is this kernel's. Once. */
void file_objects_serve(const struct file_objects *what);

/* As above, of page BACKING, or of its object. -ENXIO: it is not this kernel's, too. Any context. */
int file_object_page(uint64_t backing, uint64_t *frame);
int file_object_copy(uint64_t backing, uint64_t frame);
int file_object_hold(uint64_t backing, uint32_t kernel, int64_t more, const struct file_stamps *stamps);
void file_objects_each(void (*each)(uint64_t frame, void *context), void *context);

#endif
