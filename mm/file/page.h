/* Pages of mapped files, from whichever kernel has the file. mm/file/file_map.md. */
#ifndef MM_FILE_PAGE_H
#define MM_FILE_PAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Registers the handler. Once. */
void file_page_init(void);

/* The frame of the file's page BACKING, for reading, with one reference counted, the caller's, to be given back by
 * release_one. -ENXIO: behind the end of the file; -ENOMEM: its kernel has no memory. Tasks only; waits for that. */
int file_page_get(uint64_t backing, uint64_t *frame);
/* A new frame with the page's contents: of this kernel, or given by a peer, as frame_from_peer. The same errors. */
int file_page_copy(uint64_t backing, uint64_t *frame);

#endif
