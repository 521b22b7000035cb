/* Access to the contents of frames of any kernel. A frame of this kernel is reached in the direct map, a frame of a
 * peer through a window of the CPU, one page to read and one to write, which is open only during the access. Nothing
 * here waits. */
#ifndef MM_FRAME_CONTENT_H
#define MM_FRAME_CONTENT_H

#include <stdbool.h>
#include <stdint.h>

/* Makes the page tables of the windows. Called once. Panics without memory. */
void frame_content_init(void);

/* Copies a page from FROM, which may be a peer's memory, to TO, which is this kernel's. */
void frame_copy(uint64_t to, uint64_t from);
/* The same from FROM, which is this kernel's memory, to TO, which may be a peer's. */
void frame_copy_out(uint64_t to, uint64_t from);
/* The same between frames of any kernels. */
void frame_copy_across(uint64_t to, uint64_t from);
/* Copies SIZE bytes at OFFSET of a page, which may be a peer's memory, to BYTES or, if WRITE, from BYTES. */
void frame_bytes(uint64_t frame, uint32_t offset, void *bytes, uint32_t size, bool write);
/* Fills SIZE bytes at OFFSET of a page, which may be a peer's memory, with zeros. */
void frame_clear(uint64_t frame, uint32_t offset, uint32_t size);
/* Atomically replaces the word at OFFSET of a page, which may be a peer's memory, by VALUE if it is *EXPECTED. False:
 * it is not, and is in *EXPECTED. */
bool frame_swap(uint64_t frame, uint32_t offset, uint32_t *expected, uint32_t value);
/* Fills a page, which may be a peer's memory, with zeros. */
void frame_zero(uint64_t frame);

#endif
