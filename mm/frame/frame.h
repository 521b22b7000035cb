/* Physical frames of this instance. Frames of other instances never pass through here. Inside of the room, buddy.h has
 * the free blocks and cache.h the single frames that each CPU keeps. */
#ifndef MM_FRAME_FRAME_H
#define MM_FRAME_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/limits.h"

#define FRAME_ORDER_MAX 10u /* of what is allocated at once: 2^10 frames, 4 MiB */
/* A larger block is not worth a process: whoever asks for it can do without, or with less (Linux's
 * PAGE_ALLOC_COSTLY_ORDER, include/linux/mmzone.h). */
#define FRAME_ORDER_COSTLY 3u
/* But without the largest objects of ordinary calls, such as the strings of an exec, root could do nothing. */
#define FRAME_ORDER_ROOT 5u

/* Adds [BASE, BASE + SIZE), memory of NODE (below NODES_MAX), which is mapped at its physical address plus DELTA, as
 * all ranges are. Its first bytes become the bookkeeping. -E2BIG: too many ranges; -ENOMEM: the range is too small for
 * its bookkeeping, and is not used. */
int frame_add_range(uint64_t base, uint64_t size, uint64_t delta, uint32_t node);
/* Lets the calling CPU, which is on NODE, keep some free frames for itself, of that node's memory if this instance has
 * any there. Once for each CPU, after the last frame_add_range. */
void frame_start_cpu(uint32_t node);
/* The nodes in whose memory this instance has frames, a bit for each. */
uint64_t frame_nodes(void);

/* Allocates 2^ORDER contiguous frames, aligned to their size, contents unspecified. Returns the physical address, or 0.
 *
 * A part of memory is a reserve. Pages of users never take it; the kernel's own objects and the page tables of
 * programs may take a quarter of it; frame_alloc_sure may take all of it, for what nobody can refuse (heap_alloc_sure).
 * What root's programs, the kernel's tasks and handlers of messages ask for may go half of the reserve further, so that
 * root can do something where users have taken all that they may: a fork alone needs 24 frames for its messages. */
uint64_t frame_alloc(uint32_t order);
uint64_t frame_alloc_sure(uint32_t order);
/* Sets the function that says whether the current task is root's or the kernel's, or a handler runs. Called once, at
 * the start. */
void frame_set_privileged(bool (*function)(void));
/* True when only that part is left which frame_alloc does not take. */
bool frame_is_low(void);
/* True when only the reserve is left. A kernel all of whose other frames are pages stays so. */
bool frame_is_short(void);
/* Whether a block of ORDER that the current task has just been refused is worth the end of a process: it is small, and
 * what is left is only for those who cannot be refused; or, for root's and the kernel's tasks, pages have all but the
 * reserve, and it is no larger than FRAME_ORDER_ROOT. A user is refused above that mark only what is too large for the
 * last blocks. */
bool frame_is_lacking(uint32_t order);
/* Sets the function that hears of a kernel object that was refused, when that is worth a process (frame_is_lacking). It
 * must neither wait nor allocate. Called once, at the start. */
void frame_set_refused(void (*function)(void));
/* Says that a kernel object which needed a block of ORDER has been refused. The functions below that return a zeroed
 * frame for an object do this themselves, and so does the heap; who calls frame_alloc for one does. Any context. */
void frame_refused(uint32_t order);
/* True when there is memory for what can be done without: four times the reserve is free. */
bool frame_is_ample(void);
/* One frame filled with zeros, for a kernel object, or 0, when only what frame_alloc leaves is left. Calls the
 * shrinker. */
uint64_t frame_alloc_zeroed(void);
/* frame_alloc_page allocates a frame for a page of a program, zeroed or not; frame_alloc_table allocates a zeroed frame
 * for the page tables of programs. They call the shrinker, and return 0 when only the reserve, or three quarters of it,
 * is left.
 */
uint64_t frame_alloc_page(bool zeroed);
uint64_t frame_alloc_table(void);
/* As frame_alloc_page, from memory of a node in SET, which has a bit for each node. */
uint64_t frame_alloc_page_on(uint64_t set, bool zeroed);
/* Allocates 2^ORDER contiguous frames, aligned to their size, for pages of a program, contents unspecified. Each
 * becomes a single frame with one reference: the caller releases them one by one with frame_release, and the allocator
 * merges them again. Returns 0 when only the reserve would be left; the shrinker is not called. */
uint64_t frame_alloc_pages(uint32_t order);
/* The same for at most MOST frames in a row (1 to 512), from memory of a node in SET: as many as one free block has,
 * *COUNT of them; they are aligned to the least power of two that is not below their number. 0: there is none. */
uint64_t frame_alloc_run(uint64_t set, uint32_t most, uint32_t *count);
/* Sets the shrinker: FUNCTION frees some frames of caches and returns whether there were any. It is called when there
 * is no memory for a page of a program, a table or a kernel object, under the locks of the caller, so it must neither
 * wait nor allocate. Called once, at the start. */
void frame_set_give_up(bool (*function)(void));
/* Calls the shrinker. True: some frames were freed, and a caller of frame_alloc may try again. */
bool frame_make_room(void);
/* Frees a single frame that is filled with zeros. Some of these are kept for frame_alloc_zeroed. */
void frame_free_zeroed(uint64_t frame);
/* 16 bits about an allocated block, for whoever has allocated it; 0 at first. mm/frame/note.h says whose they are once
 * the frame has references. */
uint16_t *frame_note(uint64_t frame);
/* Called by a CPU that has nothing else to do: zeroes a free frame ahead of its use, or returns some of the frames that
 * were given back to it to the free blocks. False: there is nothing to do. */
bool frame_idle(void);
/* Frees what frame_alloc(ORDER) returned. Panics on a frame that is not allocated with that order. */
void frame_free(uint64_t frame, uint32_t order);

/* A frame that programs map counts the address spaces that refer to it, one reference each; see mm/fork/fork.md. A new
 * frame has no reference and is freed by frame_free; after the first frame_share, only frame_release may free it. */
void frame_share(uint64_t frame);
/* The same for PAGES frames in a row, of one range. */
void frame_share_run(uint64_t first, uint64_t pages);
/* Drops one reference; the last one frees the frame. Panics on a frame without references. */
void frame_release(uint64_t frame);
/* The same for PAGES consecutive frames, at once: those that become free are merged as blocks. */
void frame_release_run(uint64_t first, uint64_t pages);

/* Frames whose references are to be dropped together, as runs of consecutive ones. Starts as {0}. */
#define FRAME_RUNS 64u
#define FRAME_RUN_PAGES 512u
struct frame_runs {
    uint32_t count;
    struct {
        uint64_t first, pages;
    } run[FRAME_RUNS];
};
/* Adds FRAME. False: there is no room, and RUNS has to be released first. */
bool frame_runs_add_slowly(struct frame_runs *runs, uint64_t frame);
static inline bool frame_runs_add(struct frame_runs *runs, uint64_t frame)
{
    if (runs->count > 0) { /* most follow the one before */
        uint64_t pages = runs->run[runs->count - 1].pages;

        if (frame == runs->run[runs->count - 1].first + pages * PAGE_SIZE && pages < FRAME_RUN_PAGES) {
            runs->run[runs->count - 1].pages = pages + 1;
            return true;
        }
    }
    return frame_runs_add_slowly(runs, frame);
}
/* Drops a reference to each frame in RUNS, which is empty then. */
void frame_runs_release_all(struct frame_runs *runs);
static inline void frame_runs_release(struct frame_runs *runs)
{
    if (runs->count != 1 || runs->run[0].pages != 1) {
        frame_runs_release_all(runs);
        return;
    }
    runs->count = 0;
    frame_release(runs->run[0].first);
}
/* Adds FRAME, and releases RUNS before if there is no room. */
static inline void frame_runs_drop(struct frame_runs *runs, uint64_t frame)
{
    if (frame_runs_add(runs, frame))
        return;
    frame_runs_release(runs);
    frame_runs_add(runs, frame);
}

/* The number of references to FRAME; 0 also if it is not a frame of this instance. */
uint32_t frame_spaces(uint64_t frame);

/* True when FRAME is a free frame of this instance. */
bool frame_is_free(uint64_t frame);

/* Returns the first frame from FROM on that has references, and their number in *SPACES; or, after FRAMES_LOOKED
 * without, the frame from which the caller goes on, and 0 in *SPACES; 0: there is none. No frames of programs may be
 * allocated or freed meanwhile. */
#define FRAMES_LOOKED 2048u
uint64_t frame_next_shared(uint64_t from, uint32_t *spaces);

/* Counts, for the statistics only, that a peer may use a frame of this kernel. */
void frame_lend(void);

/* Pages that are free, pages that are managed, and how often a frame was lent. */
struct frame_stats {
    uint64_t free, total, lent;
};
void frame_stats(struct frame_stats *out);
/* Pages that are free and that are managed, on NODE. */
void frame_stats_on(uint32_t node, uint64_t *free, uint64_t *total);

#endif
