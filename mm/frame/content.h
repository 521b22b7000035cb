/* The bytes of frames, wherever their memory is. A frame of this kernel's is reached in the direct map; one of a peer's
 * through a window of one page for each CPU, which is open only while the bytes are moved. Nothing here waits. */
#ifndef MM_FRAME_CONTENT_H
#define MM_FRAME_CONTENT_H

#include <stdbool.h>
#include <stdint.h>

/* Makes the tables of the windows. Once. Panics without memory. */
void frame_content_init(void);

/* Copies a page from FROM, which may be a peer's memory, to TO, which is ours. */
void frame_copy(uint64_t to, uint64_t from);
/* Copies SIZE bytes at OFFSET of a page, which may be a peer's memory, to BYTES, or from there (WRITE). */
void frame_bytes(uint64_t frame, uint32_t offset, void *bytes, uint32_t size, bool write);
/* Fills a page, which may be a peer's memory, with zeros. */
void frame_zero(uint64_t frame);

#endif
