/* The bytes of a regular file. A page that was written or mapped has a frame; other pages are read from the boot image,
 * if the file has them there, or else are zeros and take no memory. Programs map the same frames, so their writes are
 * in the file at once. Bytes of the last page behind the end are zeros unless a mapping wrote them,
 * and are zeros again when the file gets longer.
 *
 * The caller holds the lock that protects the content (the node's). Nothing here waits. -ENOMEM always means that a
 * frame or the heap is short: nothing has changed, unless a function says otherwise. */
#ifndef KERNEL_FS_NODE_CONTENT_H
#define KERNEL_FS_NODE_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/abi/limits.h"
#include "kernel/fs/node/page_tree.h"
#include "mm/area/backing.h"

#define CONTENT_MAX (BACKING_PAGES * PAGE_SIZE) /* bytes of a file at most */

struct content {           /* all zeros: an empty file */
    const void *archive;   /* its bytes in the boot image, or NULL */
    uint64_t archive_size; /* bytes of that that are still the file's */
    uint64_t size;         /* bytes of the file */
    uint64_t pages;        /* that have a frame, or lie in the boot image */
    struct page_tree tree; /* frames, each with a reference of its own */
};

/* A file of the boot image begins with the SIZE bytes at ARCHIVE, which stay. */
void content_init(struct content *content, const void *archive, uint64_t size);

/* Up to SIZE bytes from AT on; fewer only at the end. Returns how many. */
size_t content_read(const struct content *content, uint64_t at, void *to, size_t size);
/* Writes SIZE bytes at AT. Returns how many: fewer when a frame is short; -ENOMEM: none; -EFBIG: AT is too far. */
int64_t content_write(struct content *content, uint64_t at, const void *from, size_t size);

/* The file has SIZE bytes from now on. The frames behind the end go to CUT, which is empty: they are the caller's, for
 * content_free, once no program maps them. -EFBIG, -ENOMEM. */
int content_resize(struct content *content, uint64_t size, struct page_tree *cut);
/* [START, END) is zeros from now on, and costs nothing but parts of pages. CUT: as above. */
int content_punch(struct content *content, uint64_t start, uint64_t end, struct page_tree *cut);
/* Every page of [START, END) has a frame from now on, whatever the size. -ENOMEM: a part of them has. */
int content_fill(struct content *content, uint64_t start, uint64_t end);
/* From AT on, below the size: where data, or a hole, begins; the end is a hole. -ENXIO: there is no data. */
int64_t content_seek_data(const struct content *content, uint64_t at);
int64_t content_seek_hole(const struct content *content, uint64_t at);

/* The frame of page PAGE, with a reference for the caller; WRITE: it may be written. -ENXIO: behind the end;
 * -ENOMEM. */
int content_page(struct content *content, uint64_t page, bool write, uint64_t *frame);
/* Fills FRAME with the page. -ENXIO. */
int content_copy_page(const struct content *content, uint64_t page, uint64_t frame);

/* Gives back frames that nobody maps and that the boot image has too. True: there was one. */
bool content_drop_idle(struct content *content);
/* Frames that all contents have. */
uint64_t content_frames(void);
/* Gives back the frames of CUT. */
void content_free(struct page_tree *cut);
/* Calls EACH for every frame. */
void content_each(const struct content *content, void (*each)(uint64_t frame, void *context), void *context);

#endif
