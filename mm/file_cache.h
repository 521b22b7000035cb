/* Pages of the objects that this kernel has and programs map: one frame for each, made when it is first wanted. The
 * cache has a reference of its own to each frame, so a frame of it is never anybody's alone. It keeps them until
 * memory is short here: objects do not change. mm/file_map.md. */
#ifndef MM_FILE_CACHE_H
#define MM_FILE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

/* What can be mapped here. READ fills PAGE_SIZE bytes at TO with page PAGE of OBJECT, zeros behind its end. -ENXIO: the
 * page has nothing of the object, or there is no such object. It never waits, and may be called under locks. */
struct file_objects {
    int (*read)(uint32_t object, uint64_t page, void *to);
};

/* From now on WHAT is this kernel's. Once. */
void file_cache_serve(const struct file_objects *what);

/* The frame of page BACKING of an object of this kernel, with one reference counted, the caller's. -ENXIO: as above;
 * -ENOMEM. Any context; never waits. */
int file_cache_get(uint64_t backing, uint64_t *frame);
/* Fills FRAME, which is this kernel's, with the page instead. -ENXIO. */
int file_cache_copy(uint64_t backing, uint64_t frame);

/* Calls EACH for every frame of the cache. Programs stand still. */
void file_cache_each(void (*each)(uint64_t frame, void *context), void *context);
/* How many there are. */
uint64_t file_cache_count(void);

#endif
