/* Kernel objects. See the header. A freed object's first word links it into the list of its size class; frames stay
 * with their class for ever. The caller passes the size when it frees, so objects have no header. */
#include "mm/frame/heap.h"

#include <stdint.h>

#include "kernel/arch/x86_64/base/layout.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/instance/window.h"
#include "kernel/lib/string.h"
#include "mm/frame/frame.h"

#define CLASS_MIN_SHIFT 6u /* 64 bytes: a cache line, so no two objects share one */
#define CLASS_MAX_SHIFT 11u
#define PAGES_KEPT 8u /* the most single frames kept; of pairs of frames, half as many */
#define CLASSES (CLASS_MAX_SHIFT - CLASS_MIN_SHIFT + 1)

struct free_object {
    struct free_object *next;
};

static struct spinlock lock;
static struct free_object *free_objects[CLASSES]; /* [k] lock */
static struct heap_stats counts;                  /* [k] lock; the counts of large objects: [a] */
static struct free_object *kept_pages[2];         /* [k] lock: single frames, pairs of frames */
static uint32_t kept_count[2];                    /* [k] lock */

/* The shift of the smallest power of two that is not less than SIZE, which is not 0. */
static inline uint32_t shift_of(size_t size)
{
    return size > 1 ? 64u - (uint32_t)__builtin_clzll(size - 1) : 0;
}

static inline uint32_t class_of(size_t size)
{
    return size > 1u << CLASS_MIN_SHIFT ? shift_of(size) - CLASS_MIN_SHIFT : 0;
}

static inline uint32_t order_of(size_t size)
{
    return size > PAGE_SIZE ? shift_of(size) - PAGE_SHIFT : 0;
}

static struct free_object *class_refill(uint32_t class)
{
    uint64_t frame = frame_alloc(0);
    size_t size = (size_t)1 << (class + CLASS_MIN_SHIFT);
    uint8_t *bytes;

    if (frame == 0)
        return NULL;
    counts.small_frames++;
    bytes = window_direct(frame);
    for (size_t at = 0; at + size <= PAGE_SIZE; at += size) {
        struct free_object *object = (struct free_object *)(void *)(bytes + at);

        object->next = free_objects[class];
        free_objects[class] = object;
    }
    return free_objects[class];
}

/* Takes a kept frame (ORDER 0) or pair of frames (ORDER 1), or returns NULL. A few are kept, because calls on files
 * often allocate and free objects of a page. */
static void *page_take(uint32_t order)
{
    struct free_object *page;

    spin_lock(&lock);
    page = kept_pages[order];
    if (page != NULL) {
        kept_pages[order] = page->next;
        kept_count[order]--;
        counts.small_frames -= 1u << order;
    }
    spin_unlock(&lock);
    return page;
}

static bool page_keep(void *object, uint32_t order)
{
    struct free_object *page = object;
    bool keep;

    spin_lock(&lock);
    keep = kept_count[order] < PAGES_KEPT >> order;
    if (keep) {
        page->next = kept_pages[order];
        kept_pages[order] = page;
        kept_count[order]++;
        counts.small_frames += 1u << order;
    }
    spin_unlock(&lock);
    return keep;
}

static void count_large(int64_t objects, uint32_t order)
{
    __atomic_fetch_add(&counts.large, (uint64_t)objects, __ATOMIC_RELAXED);
    __atomic_fetch_add(&counts.large_frames, (uint64_t)objects << order, __ATOMIC_RELAXED);
}

static void *take(size_t size)
{
    void *object = NULL;

    if (size > 1u << CLASS_MAX_SHIFT) {
        uint32_t order = order_of(size);
        uint64_t frame = 0;

        if (order <= 1)
            object = page_take(order);
        if (object == NULL && order <= FRAME_ORDER_MAX)
            frame = frame_alloc(order);
        if (frame != 0)
            object = window_direct(frame);
        if (object != NULL)
            count_large(1, order);
    } else {
        uint32_t class = class_of(size);

        spin_lock(&lock);
        if (free_objects[class] != NULL || class_refill(class) != NULL) {
            object = free_objects[class];
            free_objects[class] = free_objects[class]->next;
            counts.small++;
        }
        spin_unlock(&lock);
    }
    return object;
}

void *heap_alloc_unset(size_t size)
{
    void *object = take(size);

    while (object == NULL && order_of(size) <= FRAME_ORDER_MAX && frame_make_room())
        object = take(size);
    return object;
}

void *heap_alloc(size_t size)
{
    void *object = heap_alloc_unset(size);

    if (object != NULL)
        memset(object, 0, size);
    return object;
}

void heap_free(void *object, size_t size)
{
    uint32_t class;

    if (object == NULL)
        return;
    if (size > 1u << CLASS_MAX_SHIFT) {
        uint32_t order = order_of(size);

        count_large(-1, order);
        if (order > 1 || !page_keep(object, order))
            frame_free((uint64_t)object - DIRECT_BASE, order);
        return;
    }
    class = class_of(size);
    spin_lock(&lock);
    ((struct free_object *)object)->next = free_objects[class];
    free_objects[class] = object;
    counts.small--;
    spin_unlock(&lock);
}

void heap_stats(struct heap_stats *out)
{
    spin_lock(&lock);
    *out = counts;
    spin_unlock(&lock);
}
