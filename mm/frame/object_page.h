/* From a frame of this instance to the page that it holds, for memory that processes share: mm/area/object.md. Private
 * pages have no name; of a file, only pages that were mapped have one. */
#ifndef MM_FRAME_OBJECT_PAGE_H
#define MM_FRAME_OBJECT_PAGE_H

#include <stdbool.h>
#include <stdint.h>

/* FRAME, which is this instance's and allocated, holds the page named by BACKING (mm/area/backing.h; 0: none) until it
 * is freed. False: no memory to note it. Any context. */
bool frame_set_object_page(uint64_t frame, uint64_t backing);
/* The page that FRAME, of this instance, holds; 0: private, not noted, or free. The caller makes sure that the frame is
 * not freed meanwhile. */
uint64_t frame_object_page(uint64_t frame);

/* The tables of this kernel: each is a small object and a frame, and stays. */
uint64_t object_page_tables(void);

#endif
