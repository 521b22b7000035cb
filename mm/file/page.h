/* Pages of mapped files, from whichever kernel has the file. mm/file/file_map.md. */
#ifndef MM_FILE_PAGE_H
#define MM_FILE_PAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Registers the handler. Once. */
void file_page_init(void);

/* Sets *FRAME to the frame of the file's page BACKING, to be written only if BACKING lacks BACKING_READ_ONLY, and
 * counts a reference for the caller, to be dropped by release_one. WRITTEN: for a thread that is about to write.
 * -ENXIO: the page is behind the end of the file, or the file's kernel does not run; -EHWPOISON: it was lost with a
 * kernel; -ENOMEM: that kernel has no memory. Tasks only; waits for it, and until the page has moved if it moves. */
int file_page_get(uint64_t backing, bool written, uint64_t *frame);
/* Sets *FRAME to a new frame with a copy of the page: a frame of this kernel without a reference, or one of a peer with
 * a reference, as frame_from_peer. The same errors. Tasks only; waits. */
int file_page_copy(uint64_t backing, uint64_t *frame);

/* Sets *PAGES to a bit for each of the COUNT (at most FILE_RESIDENT_MAX) pages from that of BACKING on that is in the
 * memory of the file's kernel, whoever has mapped it; none if that kernel does not run. -ENOMEM. Tasks only; waits for
 * it. */
#define FILE_RESIDENT_MAX 64u
int file_pages_resident(uint64_t backing, uint32_t count, uint64_t *pages);

#endif
