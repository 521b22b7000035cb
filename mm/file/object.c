/* Objects that can be mapped. See the header. */
#include "mm/file/object.h"

#include <stddef.h>

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/area/backing.h"
#include "mm/file/hold.h"
#include "mm/frame/heap.h"
#include "mm/frame/object_page.h"
#include "mm/frame/reference.h"
#include "msg/slice.h"

static const struct file_objects *objects; /* [i] NULL: there are none */

void file_objects_serve(const struct file_objects *what)
{
    objects = what;
}

static bool is_ours(uint64_t backing)
{
    return objects != NULL && backing_is_file(backing) && backing_kernel(backing) == instance.kernel;
}

int file_object_page(uint64_t backing, struct file_want *want, uint64_t *frame)
{
    bool may_write = (backing & BACKING_READ_ONLY) == 0;
    int error;

    want->written = want->written && may_write;
    error = is_ours(backing) ? objects->page(backing_object(backing), backing_page(backing), may_write, want, frame)
                             : -ENXIO;
    if (error == 0)
        frame_set_object_page(*frame, backing_name(backing));
    return error;
}

void file_object_here(uint64_t backing, uint32_t count, uint64_t *found)
{
    if (!is_ours(backing)) {
        memset(found, 0, count * sizeof(*found));
        return;
    }
    objects->here(backing_object(backing), backing_page(backing), count, found);
    for (uint32_t i = 0; i < count; i++) {
        if (found[i] != 0)
            frame_set_object_page(found[i], backing_name(backing) + i);
    }
}

int file_object_take(uint64_t backing, bool written, uint64_t frame)
{
    struct frame_reference *reference = is_ours(backing) ? heap_alloc(sizeof(*reference)) : NULL;
    bool may_write = (backing & BACKING_READ_ONLY) == 0;
    int taken = -ENOMEM;

    if (reference != NULL) {
        reference->frame = frame;
        taken = objects->take(backing_object(backing), backing_page(backing), may_write && written, reference);
    }
    if (taken <= 0)
        heap_free(reference, sizeof(*reference));
    return taken;
}

int file_object_place(uint64_t backing, uint64_t count, const struct policy *policy)
{
    bool may_write = (backing & BACKING_READ_ONLY) == 0;

    return is_ours(backing) ? objects->place(backing_object(backing), backing_page(backing), count, may_write, policy)
                            : -ENXIO;
}

int file_object_policy(uint64_t backing, struct policy *out)
{
    return is_ours(backing) ? objects->policy(backing_object(backing), backing_page(backing), out) : -ENXIO;
}

int file_object_copy(uint64_t backing, uint64_t frame)
{
    return is_ours(backing) ? objects->copy(backing_object(backing), backing_page(backing), frame) : -ENXIO;
}

bool file_object_move_begin(uint64_t backing, uint64_t frame)
{
    return is_ours(backing) && objects->move_begin(backing_object(backing), backing_page(backing), frame);
}

bool file_object_move_end(uint64_t backing, uint64_t frame, struct frame_reference *new)
{
    return objects->move_end(backing_object(backing), backing_page(backing), frame, new);
}

void file_objects_replace(uint64_t (*copy_of)(const void *context, uint64_t frame), const void *context)
{
    struct object_place place = {0};

    while (objects != NULL && objects->replace(&place, copy_of, context))
        slice_check();
}

void file_objects_lose(uint32_t kernel)
{
    struct object_place place = {0};

    while (objects != NULL && objects->lose(&place, kernel))
        slice_check();
}

uint64_t file_object_resident(uint64_t backing, uint32_t count)
{
    return is_ours(backing) ? objects->resident(backing_object(backing), backing_page(backing), count) : 0;
}

int file_object_hold(uint64_t backing, uint32_t kernel, int64_t more, const struct file_stamps *stamps)
{
    return is_ours(backing) ? objects->hold(backing_object(backing), kernel, more, stamps) : -ENXIO;
}

bool file_objects_some(struct object_place *place, void (*each)(uint64_t frame, void *context), void *context)
{
    return objects != NULL && objects->some(place, each, context);
}
