/* Pages of mapped files, from whichever kernel has the file. mm/file/file_map.md. */
#ifndef MM_FILE_PAGE_H
#define MM_FILE_PAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Registers the handler. Once. */
void file_page_init(void);

/* Sets *FRAME to the frame of the file's page BACKING, to be written only if BACKING lacks BACKING_READ_ONLY, and
 * counts a reference for the caller, to be dropped by release_one. A new page gets a frame where the policy of the
 * page, or of the current thread, wants it, which is about to touch it at ADDRESS. WRITTEN: for a thread that is about
 * to write. -ENXIO: the page is behind the end of the file, or the file's kernel does not run; -EHWPOISON: it was lost
 * with a kernel; -ENOMEM: there is no memory where it has to be. Tasks only; waits for it, and until the page has moved
 * if it moves. */
int file_page_get(uint64_t backing, uint64_t address, bool written, uint64_t *frame);
/* Sets *PAGES to a bit for each of the COUNT (at most FILE_RESIDENT_MAX) pages from that of BACKING on that is in the
 * memory of the file's kernel, whoever has mapped it; none if that kernel does not run. -ENOMEM. Tasks only; waits for
 * it. */
#define FILE_RESIDENT_MAX 64u
int file_pages_resident(uint64_t backing, uint32_t count, uint64_t *pages);

#endif
