/* Kernel objects. See the header. The caller passes the size when it frees, so objects have no header.
 *
 * Small objects of one size class share frames. A frame's free objects are linked through their first words, and the
 * first of them, the head, has the frame's place in the list of the class. The frame's note (mm/frame/frame.h) says
 * which object is the head and how many are in use. When none is, the frame goes back, but for one that each class
 * keeps. */
#include "mm/frame/heap.h"

#include <stdbool.h>
#include <stdint.h>

#include "kernel/arch/x86_64/base/layout.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/instance/window.h"
#include "kernel/lib/list.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "mm/frame/frame.h"
#include "mm/frame/refuse.h"

#define CLASS_MIN_SHIFT 6u /* 64 bytes: a cache line, so no two objects share one */
#define CLASS_MAX_SHIFT 11u
#define PAGES_KEPT 8u /* the most single frames kept; of pairs of frames, half as many */
#define CLASSES (CLASS_MAX_SHIFT - CLASS_MIN_SHIFT + 1)
#define NOTE_USED 0x7fu /* objects in use */
#define NOTE_HEAD_SHIFT 7u
#define NOTE_HEAD 0x3fu
#define NOTE_CLASS_SHIFT 13u

struct free_object {
    struct free_object *next;
    struct list node; /* of a head: in `frames` of its class */
};

struct class
{
    struct list frames;   /* [k] lock: heads of frames with free objects; those without used ones come last */
    uint32_t free, empty; /* [k] lock: free objects, frames without used ones */
};

struct free_page {
    struct free_page *next;
};

static struct spinlock lock;
static struct class classes[CLASSES];   /* [k] lock */
static struct heap_stats counts;        /* [k] lock; the counts of large objects: [a] */
static struct free_page *kept_pages[2]; /* [k] lock: single frames, pairs of frames */
static uint32_t kept_count[2];          /* [k] lock */

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

/* Objects of CLASS in a frame. */
static inline uint32_t per_frame(uint32_t class)
{
    return (uint32_t)PAGE_SIZE >> (class + CLASS_MIN_SHIFT);
}

static inline uint64_t frame_of(const void *object)
{
    return ((uint64_t)object - DIRECT_BASE) & ~(PAGE_SIZE - 1);
}

static inline void note_set(uint16_t *note, uint32_t number, const void *head, uint32_t used)
{
    *note = (uint16_t)((((uint64_t)head & (PAGE_SIZE - 1)) >> CLASS_MIN_SHIFT) << NOTE_HEAD_SHIFT | used |
                       number << NOTE_CLASS_SHIFT);
}

static inline struct free_object *head_of(uint64_t frame, uint16_t note)
{
    return (void *)((uint8_t *)window_direct(frame) +
                    ((uint64_t)(note >> NOTE_HEAD_SHIFT & NOTE_HEAD) << CLASS_MIN_SHIFT));
}

static bool class_refill_locked(uint32_t number, bool sure)
{
    uint64_t frame = sure ? frame_alloc_sure(0) : frame_alloc(0);
    size_t size = (size_t)1 << (number + CLASS_MIN_SHIFT);
    struct class *class = &classes[number];
    struct free_object *after = NULL;
    uint8_t *bytes;

    if (frame == 0)
        return false;
    if (class->frames.next == NULL)
        list_init(&class->frames);
    counts.small_frames++;
    bytes = window_direct(frame);
    for (size_t at = PAGE_SIZE; at > 0;) {
        struct free_object *object;

        at -= size;
        object = (void *)(bytes + at);
        object->next = after;
        after = object;
    }
    note_set(frame_note(frame), number, after, 0);
    list_append(&class->frames, &after->node);
    class->free += per_frame(number);
    class->empty++;
    return true;
}

/* Takes an object out of the first frame of CLASS. */
static void *class_take_locked(struct class *class)
{
    struct free_object *head = container_of(class->frames.next, struct free_object, node), *object = head->next;
    uint16_t *note = frame_note(frame_of(head));

    if (object != NULL) {
        head->next = object->next;
    } else {
        list_remove(&head->node);
        object = head;
    }
    if (((*note)++ & NOTE_USED) == 0)
        class->empty--;
    class->free--;
    return object;
}

/* Only the sure take what is left when memory is low: a frame that they had to break into objects is theirs. */
static void *small_take(uint32_t number, bool sure)
{
    struct class *class = &classes[number];
    void *object = NULL;

    spin_lock(&lock);
    if (class->free <= per_frame(number) && !sure && frame_is_low())
        object = NULL;
    else if (class->free > 0 || class_refill_locked(number, sure))
        object = class_take_locked(class);
    if (object != NULL)
        counts.small++;
    spin_unlock(&lock);
    return object;
}

static void small_free(uint32_t number, struct free_object *object)
{
    struct class *class = &classes[number];
    struct free_object *head = object;
    uint64_t frame = frame_of(object);
    uint16_t *note = frame_note(frame);
    uint32_t used;

    spin_lock(&lock);
    if (*note >> NOTE_CLASS_SHIFT != number || (*note & NOTE_USED) == 0)
        panic("mm: object %p freed with another size, or twice", (void *)object);
    used = (*note & NOTE_USED) - 1u;
    class->free++;
    counts.small--;
    if (used + 1 == per_frame(number)) {
        object->next = NULL;
        list_prepend(&class->frames, &object->node);
        note_set(note, number, object, used);
    } else {
        head = head_of(frame, *note);
        object->next = head->next;
        head->next = object;
        (*note)--;
    }
    if (used == 0) {
        list_remove(&head->node);
        if (class->empty == 0) {
            class->empty++;
            list_append(&class->frames, &head->node);
        } else {
            class->free -= per_frame(number);
            counts.small_frames--;
            frame_free(frame, 0);
        }
    }
    spin_unlock(&lock);
}

/* Takes a kept frame (ORDER 0) or pair of frames (ORDER 1), or returns NULL. A few are kept, because calls on files
 * often allocate and free objects of a page. */
static void *page_take(uint32_t order)
{
    struct free_page *page;

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
    struct free_page *page = object;
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

static void *large_take(uint32_t order, bool sure)
{
    void *object = NULL;
    uint64_t frame = 0;

    if (order <= 1 && (sure || !frame_is_low()))
        object = page_take(order);
    if (object == NULL && order <= FRAME_ORDER_MAX)
        frame = sure ? frame_alloc_sure(order) : frame_alloc(order);
    if (frame != 0)
        object = window_direct(frame);
    if (object != NULL)
        count_large(1, order);
    return object;
}

static inline void *take(size_t size, bool sure)
{
    return size > 1u << CLASS_MAX_SHIFT ? large_take(order_of(size), sure) : small_take(class_of(size), sure);
}

static inline void *take_or_make_room(size_t size, bool sure)
{
    void *object = take(size, sure);

    while (object == NULL && order_of(size) <= FRAME_ORDER_MAX && frame_make_room())
        object = take(size, sure);
    if (object == NULL)
        frame_refused(order_of(size));
    return object;
}

void *heap_alloc_unset(size_t size)
{
    if (refuse(__builtin_return_address(0)))
        return NULL;
    return take_or_make_room(size, false);
}

void *heap_alloc(size_t size)
{
    void *object = refuse(__builtin_return_address(0)) ? NULL : take_or_make_room(size, false);

    if (object != NULL)
        memset(object, 0, size);
    return object;
}

void *heap_alloc_sure(size_t size)
{
    void *object = take_or_make_room(size, true);

    if (object != NULL)
        memset(object, 0, size);
    return object;
}

void heap_free(void *object, size_t size)
{
    if (object == NULL)
        return;
    if (size > 1u << CLASS_MAX_SHIFT) {
        uint32_t order = order_of(size);

        count_large(-1, order);
        if (order > 1 || !page_keep(object, order))
            frame_free((uint64_t)object - DIRECT_BASE, order);
        return;
    }
    small_free(class_of(size), object);
}

void heap_stats(struct heap_stats *out)
{
    spin_lock(&lock);
    *out = counts;
    spin_unlock(&lock);
}
