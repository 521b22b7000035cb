/* The bytes of a regular file. A page that was written or mapped has a frame. Any other page is read from the boot
 * image, if the file has it there, or else is a hole: it reads as zeros and takes no memory. Programs map the same
 * frames, so what they write is in the file at once. Bytes of the last page behind the end are zeros unless a mapping
 * has written them, and become zeros when the file grows over them without writing them.
 *
 * A page may be given another frame while programs map it (mm/move/move.md). From content_move_begin to
 * content_move_end it moves: its bytes are read as ever, and nobody gets its frame or writes to it. -EAGAIN always
 * means that a page moves which would be written or handed out, and nothing has changed. Its frame may then be memory
 * of another kernel. If that dies the page is lost, unless the boot image has it: -EIO, until the file loses it.
 *
 * The caller holds the lock that protects the content (the node's). Nothing here waits. -ENOMEM always means that a
 * frame or heap memory is missing, and -EDQUOT that the content's user has too many pages, or too much of what the
 * table of pages takes, and nothing has changed, unless a function says otherwise. */
#ifndef KERNEL_FS_NODE_CONTENT_H
#define KERNEL_FS_NODE_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/abi/limits.h"
#include "kernel/fs/node/page_tree.h"
#include "mm/area/backing.h"

#define CONTENT_MAX (BACKING_PAGES * PAGE_SIZE) /* bytes of a file at most */

struct frame_reference; /* mm/frame/reference.h */

struct moving; /* content.c */

struct content {           /* all zeros: an empty file */
    const void *archive;   /* the file's bytes in the boot image, or NULL */
    uint64_t archive_size; /* how many of them are still the file's */
    uint64_t size;         /* length of the file in bytes */
    uint64_t pages;        /* pages that have a frame or lie in the boot image */
    struct page_tree tree; /* frames, each with a reference of its own */
    struct moving *moving; /* from content_move_begin to content_move_end, also of pages that were lost meanwhile */
    uint32_t uid;          /* the user who has its frames of QUOTA_FILE_PAGES, the tree's nodes of QUOTA_FILE_BYTES */
};

/* Initializes the content of a file of the boot image with the SIZE bytes at ARCHIVE, which must stay. */
void content_init(struct content *content, const void *archive, uint64_t size);

/* Reads up to SIZE bytes from AT on; fewer only at the end of the file, or where a page is lost. Returns how many;
 * -EIO: the first page is lost. */
int64_t content_read(const struct content *content, uint64_t at, void *to, size_t size);
/* The same, by PUT (kernel/file/file.h) in place of a copy. -EFAULT: PUT has failed, or there is a hole, which has no
 * bytes to hand over, or a page that is not in this kernel's memory; some may have been. */
int64_t content_read_out(const struct content *content, uint64_t at, size_t size,
                         int (*put)(uint64_t to, const void *from, uint64_t size), uint64_t to);
/* Writes SIZE bytes at AT. Returns how many: fewer if there is no memory for the rest, at a lost page, or at
 * CONTENT_MAX. -ENOMEM, -EDQUOT: none were written; -EFBIG: AT is not below CONTENT_MAX; -EAGAIN. */
int64_t content_write(struct content *content, uint64_t at, const void *from, size_t size);

/* Sets the length of the file to SIZE bytes. Frames behind the end move to CUT, which must be empty. They belong to the
 * caller, which frees them with content_free once no program maps them. -EFBIG,
 * -ENOMEM; -EAGAIN: the page moves in which the file ends, before or afterwards. */
int content_resize(struct content *content, uint64_t size, struct page_tree *cut);
/* Punches a hole: [START, END) reads as zeros, and whole pages in it take no memory. CUT as above. -ENOMEM, -EDQUOT:
 * the file reads as before, but may have more frames; -EAGAIN: a page moves of which a part is in the hole. */
int content_punch(struct content *content, uint64_t start, uint64_t end, struct page_tree *cut);
/* Gives every page of [START, END) a frame unless the boot image has it, whatever the file's length. -ENOMEM, -EDQUOT:
 * a part of them has frames. */
int content_fill(struct content *content, uint64_t start, uint64_t end);
/* The offset at or after AT where data, or a hole, begins. The end of the file counts as a hole. -ENXIO: AT is behind
 * the end, or no data follows. */
int64_t content_seek_data(const struct content *content, uint64_t at);
int64_t content_seek_hole(const struct content *content, uint64_t at);

/* Sets *FRAME to the frame of page PAGE, with a reference for the caller. With WRITE the frame may be written. -ENXIO:
 * behind the end, or the user has too much, as for -EDQUOT; -ENOMEM, -EAGAIN; -EHWPOISON: it is lost. -EXDEV, never
 * with PLACED: content_lacks_frame holds. 1: the frame is another kernel's, and no reference was counted. */
int content_page(struct content *content, uint64_t page, bool write, bool placed, uint64_t *frame);
/* For each of the COUNT pages from PAGE on: sets *FOUND++ to its frame, with a reference for the caller, if the page
 * has one of this kernel and does not move; else to 0. Makes no frames; those of the boot image's pages stay the same
 * as it, so the caller must not write to them. */
void content_frames_here(const struct content *content, uint64_t page, uint32_t count, uint64_t *found);
/* True if a frame has to be made before page PAGE can be mapped or written, and may be of any memory: it has none, and
 * is neither lost nor in the boot image, whose pages are kept where they can be dropped again. */
bool content_lacks_frame(const struct content *content, uint64_t page);
/* True if page PAGE is behind the end. */
bool content_ends_before(const struct content *content, uint64_t page);
/* Page PAGE, whether behind the end or not, gets the frame of NEW, zeroed, of any kernel, with a reference for the
 * file, which takes NEW over. -EEXIST: it does not lack a frame; -ENOMEM; -EDQUOT: the user has too many pages. After
 * an error nothing has changed. */
int content_take(struct content *content, uint64_t page, struct frame_reference *new);
/* The same with a frame of this kernel that has no reference. */
int content_take_own(struct content *content, uint64_t page, uint64_t frame);
/* Copies page PAGE to FRAME. -ENXIO: behind the end; -EHWPOISON. */
int content_copy_page(const struct content *content, uint64_t page, uint64_t frame);

/* If FRAME is page PAGE's frame and does not move, and there is memory to note it, the page moves from now on. */
bool content_move_begin(struct content *content, uint64_t page, uint64_t frame);
/* The page, which had FRAME at content_move_begin, does not move any more. NEW, which the file takes over, has its new
 * frame, or 0: it keeps its frame; the reference to the other frame is dropped. False: the file has lost FRAME, and if
 * the page moves, it does so with another frame and for another mover. The caller's space still has FRAME, so that it
 * is not in use again. */
bool content_move_end(struct content *content, uint64_t page, uint64_t frame, struct frame_reference *new);
/* Drops the reference of NEW, unless it has no frame, and frees it. */
void content_drop_reference(struct frame_reference *new);
/* All programs are quiesced. Where a frame is another kernel's memory, and COPY_OF returns not 0, that frame is the
 * page's from now on: the reference to the old one has become one to it. The pages from *PAGE on, as many as *LEFT, as
 * content_some has them. */
bool content_replace(struct content *content, uint64_t *page, uint32_t *left,
                     uint64_t (*copy_of)(const void *context, uint64_t frame), const void *context);
/* KERNEL has died: pages in its memory are lost. *LOST is set if there was one. Pages as above. */
bool content_lose(struct content *content, uint64_t *page, uint32_t *left, uint32_t kernel, bool *lost);

/* Whether page PAGE is within the file, and no hole. */
bool content_has_page(const struct content *content, uint64_t page);

/* Frees frames that nobody maps and that equal the boot image. Returns true if there was one. */
bool content_drop_idle(struct content *content);
/* The pages that count for the content's user: those of the boot image do not. */
uint64_t content_charged(const struct content *content);
/* The bytes of its table of pages, which count for the content's user, too. */
uint64_t content_table_bytes(const struct content *content);
/* The number of frames of this kernel in all contents. */
uint64_t content_frames(void);
/* Nobody is going to end the moves of CONTENT, which is about to be freed. */
void content_forget_moves(struct content *content);
/* Frees the frames of CUT. PAUSE, unless it is NULL, is called after each. */
void content_free(struct page_tree *cut, void (*pause)(void));
/* Calls EACH for the frames of CONTENT from page *PAGE on, and moves *PAGE behind them. Each page takes one of *LEFT:
 * true if none is left and there are more pages. */
bool content_some(const struct content *content, uint64_t *page, uint32_t *left,
                  void (*each)(uint64_t frame, void *context), void *context);

#endif
