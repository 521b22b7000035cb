/* References to frames of any kernel. See the header and mm/fork/fork.md. */
#include "mm/frame/reference.h"

#include <stddef.h>

#include "boot/plan/plan.h"
#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/window.h"
#include "kernel/lib/log.h"
#include "kernel/lib/panic.h"
#include "mm/frame/abroad.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"
#include "mm/frame/wire.h"
#include "msg/channel.h"
#include "msg/message.h"
#include "msg/request/call.h"

#define BATCH_FIRST 512u  /* bytes of an owner's first batch: enough for an unmap of a few pages */
#define BATCH_LARGE 4096u /* bytes of every further batch: its owner releases 500 frames in a handler */

struct release_batch {
    struct release_batch *next;
    struct msg_asking asking;
    uint32_t kernel; /* the owner */
    uint32_t size;   /* bytes of this struct with its frames */
    uint32_t count, room;
    uint64_t frames[];
};

uint32_t frame_owner(uint64_t frame)
{
    const struct plan_range *range = window_range_of(frame);

    return range != NULL ? range->kernel : KERNELS_MAX;
}

/* The owner has answered a batch, which is freed. */
static void batch_done(void *context, uint32_t kernel, const void *reply, int length)
{
    struct release_batch *batch = context;

    (void)reply;
    if (length < 0 && msg_peer_reachable(kernel)) /* else it has died, and its frames with it */
        log_line("mm: kernel %u refuses to take back frames (error %d)", kernel, length);
    heap_free(batch, batch->size);
}

static void batch_send(struct release_batch *batch)
{
    msg_ask(&batch->asking, batch->kernel, MSG_FRAME_RELEASE, batch->frames, batch->count * sizeof(batch->frames[0]),
            batch_done, batch);
}

static struct release_batch *batch_create(uint32_t kernel, uint32_t size)
{
    struct release_batch *batch = heap_alloc(size);

    if (batch == NULL)
        return NULL;
    batch->kernel = kernel;
    batch->size = size;
    batch->room = (size - (uint32_t)offsetof(struct release_batch, frames)) / sizeof(batch->frames[0]);
    return batch;
}

int release_add(struct releasing *releasing, uint64_t frame)
{
    uint32_t kernel = frame_owner(frame);
    struct release_batch **at = &releasing->batches;
    struct release_batch *batch;

    if (kernel == instance.kernel) {
        frame_release(frame);
        return 0;
    }
    while (*at != NULL && (*at)->kernel != kernel)
        at = &(*at)->next;
    batch = *at;
    if (batch == NULL || batch->count == batch->room) {
        struct release_batch *full = batch;

        batch = batch_create(kernel, full != NULL ? BATCH_LARGE : BATCH_FIRST);
        if (batch == NULL)
            return -ENOMEM;
        if (full != NULL) {
            batch->next = full->next;
            batch_send(full);
        }
        *at = batch;
    }
    batch->frames[batch->count++] = frame;
    return 0;
}

void release_send(struct releasing *releasing)
{
    while (releasing->batches != NULL) {
        struct release_batch *batch = releasing->batches;

        releasing->batches = batch->next;
        batch_send(batch);
    }
}

void release_one(uint64_t frame)
{
    uint32_t kernel = frame_owner(frame);
    int error;

    if (kernel == instance.kernel) {
        frame_release(frame);
        return;
    }
    error = msg_call(kernel, MSG_FRAME_RELEASE, &frame, sizeof(frame), NULL, 0, "return of a frame", frame);
    if (error < 0 && msg_peer_reachable(kernel))
        log_line("mm: kernel %u refuses to take back frame %lx (error %d)", kernel, (unsigned long)frame, error);
}

static void reference_dropped(void *context, uint32_t kernel, const void *reply, int length)
{
    struct frame_reference *reference = context;

    (void)reply;
    if (length < 0 && msg_peer_reachable(kernel))
        log_line("mm: kernel %u refuses to take back frame %lx (error %d)", kernel, (unsigned long)reference->frame,
                 length);
    heap_free(reference, sizeof(*reference));
}

void frame_reference_drop(struct frame_reference *reference)
{
    msg_ask(&reference->asking, frame_owner(reference->frame), MSG_FRAME_RELEASE, &reference->frame,
            sizeof(reference->frame), reference_dropped, reference);
}

int share_frames(uint32_t kernel, const uint64_t *frames, uint32_t count)
{
    int length;

    assert(kernel != instance.kernel);
    length = msg_call(kernel, MSG_FRAME_SHARE, frames, count * sizeof(frames[0]), NULL, 0, "sharing of frames",
                      frames[0]);
    return length < 0 ? length : 0;
}

bool frame_is_sole(uint64_t frame)
{
    uint32_t kernel = frame_owner(frame);
    struct msg_frame ask = {frame};
    struct msg_frame_spaces answer;

    if (kernel == instance.kernel)
        return frame_spaces(frame) == 1;
    return msg_call(kernel, MSG_FRAME_SOLE, &ask, sizeof(ask), &answer, sizeof(answer), "count of a frame's spaces",
                    frame) == (int)sizeof(answer) &&
           answer.spaces == 1;
}

/* True when every frame in M is this kernel's and has references. */
static bool frames_valid(const struct msg *m)
{
    const uint64_t *frames = m->data;

    if (m->length % sizeof(frames[0]) != 0)
        return false;
    for (uint32_t i = 0; i < m->length / sizeof(frames[0]); i++) {
        if (frame_spaces(frames[i]) == 0)
            return false;
    }
    return true;
}

/* WHAT is done to each frame, until it refuses one: a frame may be named more often than spaces have it. */
static void each_frame(const struct msg *m, bool (*what)(uint64_t frame))
{
    const uint64_t *frames = m->data;
    bool valid = frames_valid(m);

    for (uint32_t i = 0; valid && i < m->length / sizeof(frames[0]); i++)
        valid = what(frames[i]);
    if (valid)
        msg_reply(&m->ticket, NULL, 0);
    else
        msg_reply_error(&m->ticket, -EPROTO);
}

static bool share_abroad(uint64_t frame)
{
    if (frame_spaces(frame) == 0)
        return false;
    frame_share(frame);
    abroad_add(frame);
    return true;
}

/* Only of what is abroad: what this kernel maps, nobody else can give back. */
static bool release_abroad(uint64_t frame)
{
    if (!abroad_take(frame))
        return false;
    frame_release(frame);
    return true;
}

static void handle_share(const struct msg *m)
{
    each_frame(m, share_abroad);
}

static void handle_release(const struct msg *m)
{
    each_frame(m, release_abroad);
}

static void handle_sole(const struct msg *m)
{
    const struct msg_frame *ask = m->data;
    struct msg_frame_spaces answer = {frame_spaces(ask->frame)};

    msg_reply(&m->ticket, &answer, sizeof(answer));
}

void reference_init(void)
{
    msg_register(MSG_FRAME_SHARE, handle_share, 0, 0);
    msg_register(MSG_FRAME_RELEASE, handle_release, 0, 0);
    msg_register(MSG_FRAME_SOLE, handle_sole, sizeof(struct msg_frame), sizeof(struct msg_frame_spaces));
}
