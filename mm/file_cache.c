/* Frames of mapped files. See the header. */
#include "mm/file_cache.h"

#include <stddef.h>

#include "boot/instance.h"
#include "boot/window.h"
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/layout.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/lib/list.h"
#include "mm/backing.h"
#include "mm/frame.h"
#include "mm/heap.h"

#define BUCKETS 1024u

struct cached {
    struct list node;
    uint64_t backing;
    uint64_t frame;
};

static struct spinlock lock;               /* after space->lock; before those of frames and of the heap */
static struct list buckets[BUCKETS];       /* [k] */
static uint64_t count;                     /* [k] */
static const struct file_objects *objects; /* [i] NULL: there are none */

static struct list *bucket_of(uint64_t backing)
{
    return &buckets[(backing_page(backing) + backing_object(backing) * 37ull) % BUCKETS];
}

void file_cache_serve(const struct file_objects *what)
{
    for (uint32_t i = 0; i < BUCKETS; i++)
        list_init(&buckets[i]);
    objects = what;
}

static int read_page(uint64_t backing, uint64_t frame)
{
    if (objects == NULL || backing_kernel(backing) != instance.kernel)
        return -ENXIO;
    return objects->read(backing_object(backing), backing_page(backing), window_direct(frame));
}

int file_cache_copy(uint64_t backing, uint64_t frame)
{
    return read_page(backing, frame);
}

static struct cached *find_locked(uint64_t backing)
{
    list_for_each(node, bucket_of(backing)) {
        struct cached *cached = container_of(node, struct cached, node);

        if (cached->backing == backing)
            return cached;
    }
    return NULL;
}

/* Gives back the frames that no space has. Nobody gets one meanwhile: that takes a mapping or the lock. */
static void drop_idle_locked(void)
{
    for (uint32_t i = 0; i < BUCKETS; i++) {
        list_for_each_safe(node, &buckets[i]) {
            struct cached *cached = container_of(node, struct cached, node);

            if (frame_spaces(cached->frame) != 1)
                continue;
            list_remove(node);
            frame_release(cached->frame);
            heap_free(cached, sizeof(*cached));
            count--;
        }
    }
}

static int add_locked(uint64_t backing, struct cached **out)
{
    struct cached *cached;
    uint64_t frame = frame_alloc_page(false);
    int error;

    if (frame == 0) {
        drop_idle_locked();
        frame = frame_alloc_page(false);
    }
    if (frame == 0)
        return -ENOMEM;
    error = read_page(backing, frame);
    cached = error == 0 ? heap_alloc(sizeof(*cached)) : NULL;
    if (cached == NULL) {
        frame_free(frame, 0);
        return error != 0 ? error : -ENOMEM;
    }
    cached->backing = backing;
    cached->frame = frame;
    frame_share(frame);
    list_append(bucket_of(backing), &cached->node);
    count++;
    *out = cached;
    return 0;
}

int file_cache_get(uint64_t backing, uint64_t *frame)
{
    struct cached *cached = NULL;
    int error = 0;

    if (objects == NULL)
        return -ENXIO;
    spin_lock(&lock);
    cached = find_locked(backing);
    if (cached == NULL)
        error = add_locked(backing, &cached);
    if (error == 0) {
        frame_share(cached->frame);
        *frame = cached->frame;
    }
    spin_unlock(&lock);
    return error;
}

void file_cache_each(void (*each)(uint64_t frame, void *context), void *context)
{
    for (uint32_t i = 0; i < BUCKETS && objects != NULL; i++) {
        list_for_each(node, &buckets[i])
            each(container_of(node, struct cached, node)->frame, context);
    }
}

uint64_t file_cache_count(void)
{
    return __atomic_load_n(&count, __ATOMIC_RELAXED);
}
