/* Frames that caches of this kernel keep. See the header. */
#include "mm/frame/kept.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/instance/window.h"
#include "kernel/lib/string.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"

#define FRAMES_AT_ONCE 512u /* of which somebody is told under the lock */

static struct spinlock lock;              /* taken before the locks of frames */
static struct list sets = {&sets, &sets}; /* [k] lock: struct frame_kept, in the order of their numbers */
static uint64_t numbers;                  /* [k] lock: given out so far */
static uint64_t kept_frames;              /* [k] lock */

void frame_kept_init(struct frame_kept *kept)
{
    *kept = (struct frame_kept){.pages = NULL};
    list_init(&kept->node);
}

/* Drops the references to COUNT frames at PAGES. */
static void release(uint8_t *const *pages, size_t count)
{
    struct frame_runs runs = {.count = 0};

    for (size_t i = 0; i < count; i++)
        frame_runs_drop(&runs, window_physical(pages[i]));
    frame_runs_release(&runs);
}

/* Allocates COUNT frames with a reference each. -ENOMEM: none. */
static int allocate(uint8_t **pages, size_t count)
{
    for (size_t done = 0; done < count;) {
        size_t most = count - done < FRAME_RUN_PAGES ? count - done : FRAME_RUN_PAGES;
        uint32_t found;
        uint64_t frame = frame_alloc_run(UINT64_MAX, (uint32_t)most, &found);

        if (frame == 0) {
            release(pages, done);
            return -ENOMEM;
        }
        for (uint32_t i = 0; i < found; i++)
            pages[done++] = window_direct(frame + i * PAGE_SIZE);
    }
    return 0;
}

int frame_kept_extend(struct frame_kept *kept, size_t pages)
{
    uint8_t **all, **old = kept->pages;
    size_t more = pages - kept->count;
    int error;

    if (pages <= kept->count)
        return 0;
    all = heap_alloc_unset(pages * sizeof(*all));
    if (all == NULL)
        return -ENOMEM;
    error = allocate(all + kept->count, more);
    if (error != 0) {
        heap_free(all, pages * sizeof(*all));
        return error;
    }
    if (old != NULL)
        memcpy(all, old, kept->count * sizeof(*all));
    spin_lock(&lock);
    if (kept->count == 0) {
        kept->number = ++numbers;
        list_append(&sets, &kept->node);
    }
    pages = kept->count;
    kept->pages = all;
    kept->count += more;
    kept_frames += more;
    spin_unlock(&lock);
    heap_free(old, pages * sizeof(*old));
    return 0;
}

void frame_kept_drop(struct frame_kept *kept)
{
    struct frame_kept old = *kept;

    if (kept->count == 0)
        return;
    spin_lock(&lock);
    list_remove(&kept->node);
    kept->pages = NULL;
    kept->count = 0;
    kept_frames -= old.count;
    spin_unlock(&lock);
    release(old.pages, old.count);
    heap_free(old.pages, old.count * sizeof(*old.pages));
}

bool frame_kept_mapped(const struct frame_kept *kept)
{
    for (size_t i = 0; i < kept->count; i++) {
        if (frame_spaces(window_physical(kept->pages[i])) > 1)
            return true;
    }
    return false;
}

uint64_t frame_kept_count(void)
{
    return __atomic_load_n(&kept_frames, __ATOMIC_RELAXED);
}

bool frame_kept_some(struct frame_kept_place *place, void (*each)(uint64_t frame, void *context), void *context)
{
    uint32_t left = FRAMES_AT_ONCE;

    spin_lock(&lock);
    list_for_each(node, &sets) {
        const struct frame_kept *kept = container_of(node, const struct frame_kept, node);

        if (kept->number < place->number)
            continue;
        if (kept->number > place->number)
            *place = (struct frame_kept_place){.number = kept->number};
        for (; left > 0 && place->index < kept->count; left--)
            each(window_physical(kept->pages[place->index++]), context);
        if (left == 0)
            break;
    }
    spin_unlock(&lock);
    return left == 0;
}
