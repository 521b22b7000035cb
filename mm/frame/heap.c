/* Kernel objects. See the header. The caller passes the size when it frees, so objects have no header.
 *
 * Small objects: a frame has objects of one size class. The free objects of a frame are linked; the one that was free
 * first heads the list, links the frame into the list of its class, and counts them. The frame's note (frame_note) says
 * which one it is; 0: all objects are in use. A frame whose objects are all free goes back to the frame allocator, but
 * each class keeps one. Before all this, each class has a short list of free objects of any frames, because most
 * objects are freed soon. */
#include "mm/frame/heap.h"

#include <stdint.h>

#include "kernel/arch/x86_64/base/layout.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/instance/window.h"
#include "kernel/lib/list.h"
#include "kernel/lib/string.h"
#include "mm/frame/frame.h"

#define CLASS_MIN_SHIFT 6u /* 64 bytes: a cache line, so no two objects share one */
#define CLASS_MAX_SHIFT 11u
#define PAGES_KEPT 8u /* the most single frames kept; of pairs of frames, half as many */
#define RECENT 16u    /* the most free objects of a class that are kept for the next ones */
#define CLASSES (CLASS_MAX_SHIFT - CLASS_MIN_SHIFT + 1)

struct free_object {
    struct free_object *next; /* in the same frame */
};

/* The free object that heads its frame's list. It is handed out last. */
struct frame_head {
    struct free_object *next;
    struct list node; /* in the list of its class */
    uint32_t count;   /* free objects of the frame, this one included */
};

_Static_assert(sizeof(struct frame_head) <= 1u << CLASS_MIN_SHIFT, "it fits into the smallest object");

static struct spinlock lock;
static struct free_object *recent[CLASSES]; /* [k] lock: free objects that their frames count as in use */
static uint32_t recent_count[CLASSES];      /* [k] lock */
static struct list
    partial[CLASSES];            /* [k] lock: frames with a free object, the one last freed into first; lazily made */
static uint32_t empty[CLASSES];  /* [k] lock: how many of them have no object in use: at most one */
static struct heap_stats counts; /* [k] lock; the counts of large objects: [a] */
static struct free_object *kept_pages[2]; /* [k] lock: single frames, pairs of frames */
static uint32_t kept_count[2];            /* [k] lock */

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

static inline size_t size_of_class(uint32_t class)
{
    return (size_t)1 << (class + CLASS_MIN_SHIFT);
}

static inline uint32_t objects_a_frame(uint32_t class)
{
    return (uint32_t)(PAGE_SIZE >> (class + CLASS_MIN_SHIFT));
}

/* OBJECT, at the address of which a free object of CLASS begins, heads the list of its frame, which has COUNT free
 * ones.
 */
static void head_make_locked(struct frame_head *object, uint32_t class, uint16_t *note, struct free_object *next,
                             uint32_t count)
{
    object->next = next;
    object->count = count;
    list_prepend(&partial[class], &object->node);
    *note = (uint16_t)(((uint64_t)object & (PAGE_SIZE - 1)) >> CLASS_MIN_SHIFT) + 1;
}

/* Adds a frame to CLASS, all of whose objects are free. False: there is none. */
static bool class_refill_locked(uint32_t class)
{
    uint64_t frame = frame_alloc(0);
    size_t size = size_of_class(class);
    struct free_object *next = NULL;
    uint8_t *bytes;

    if (frame == 0)
        return false;
    counts.small_frames++;
    bytes = window_direct(frame);
    for (size_t at = PAGE_SIZE - size; at > 0; at -= size) {
        struct free_object *object = (struct free_object *)(void *)(bytes + at);

        object->next = next;
        next = object;
    }
    head_make_locked((struct frame_head *)(void *)bytes, class, frame_note(frame), next, objects_a_frame(class));
    empty[class]++;
    return true;
}

/* Takes an object from a frame, or returns NULL. */
static __attribute__((noinline)) void *frame_take_locked(uint32_t class)
{
    struct frame_head *head;
    void *object;

    if (partial[class].next == NULL)
        list_init(&partial[class]);
    if (list_empty(&partial[class]) && !class_refill_locked(class))
        return NULL;
    head = container_of(partial[class].next, struct frame_head, node);
    if (head->count == objects_a_frame(class))
        empty[class]--;
    object = head->next;
    if (object != NULL) {
        head->next = head->next->next;
        head->count--;
        return object;
    }
    list_remove(&head->node);
    *frame_note(((uint64_t)head & ~(PAGE_SIZE - 1)) - DIRECT_BASE) = 0;
    return head;
}

static void *small_take(uint32_t class)
{
    struct free_object *object;

    spin_lock(&lock);
    object = recent[class];
    if (object != NULL) {
        recent[class] = object->next;
        recent_count[class]--;
    } else {
        object = frame_take_locked(class);
    }
    counts.small += object != NULL;
    spin_unlock(&lock);
    return object;
}

/* Returns OBJECT to its frame. True: *FRAME is to be freed. */
static __attribute__((noinline)) bool frame_put_locked(void *object, uint32_t class, uint64_t *frame)
{
    struct frame_head *head = object;
    bool gone = false;
    uint16_t *note;

    *frame = ((uint64_t)object & ~(PAGE_SIZE - 1)) - DIRECT_BASE;
    note = frame_note(*frame);
    if (*note == 0) {
        head_make_locked(head, class, note, NULL, 1);
    } else {
        head = (struct frame_head *)(((uint64_t)object & ~(PAGE_SIZE - 1)) + ((*note - 1ull) << CLASS_MIN_SHIFT));
        ((struct free_object *)object)->next = head->next;
        head->next = object;
        head->count++;
    }
    if (head->count == objects_a_frame(class)) {
        gone = empty[class] > 0;
        if (gone) {
            list_remove(&head->node);
            counts.small_frames--;
        } else {
            empty[class]++;
        }
    }
    return gone;
}

static void small_free(void *object, uint32_t class)
{
    struct free_object *freed = object;
    bool gone = false;
    uint64_t frame;

    spin_lock(&lock);
    counts.small--;
    if (recent_count[class] < RECENT) {
        freed->next = recent[class];
        recent[class] = freed;
        recent_count[class]++;
    } else {
        gone = frame_put_locked(object, class, &frame);
    }
    spin_unlock(&lock);
    if (gone)
        frame_free(frame, 0);
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
        object = small_take(class_of(size));
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
    if (object == NULL)
        return;
    if (size > 1u << CLASS_MAX_SHIFT) {
        uint32_t order = order_of(size);

        count_large(-1, order);
        if (order > 1 || !page_keep(object, order))
            frame_free((uint64_t)object - DIRECT_BASE, order);
        return;
    }
    small_free(object, class_of(size));
}

void heap_stats(struct heap_stats *out)
{
    spin_lock(&lock);
    *out = counts;
    spin_unlock(&lock);
}
