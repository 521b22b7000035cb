/* The audit of one kernel while programs are quiesced: its page tables, and its frames as its own bookkeeping and all
 * page tables of the machine see them. See mm/audit/audit.md. */
#include "boot/plan/plan.h"
#include "kernel/abi/errno.h"
#include "kernel/instance/window.h"
#include "kernel/lib/string.h"
#include "mm/audit/audit.h"
#include "mm/audit/check.h"
#include "mm/audit/internal.h"
#include "mm/audit/report.h"
#include "mm/audit/tables.h"
#include "mm/file/object.h"
#include "mm/frame/abroad.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"
#include "mm/frame/kept.h"
#include "mm/page/zero_page.h"
#include "mm/space/space.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "msg/slice.h"

/* --- tables --- */

static uint32_t owner_of(uint64_t pa, uint64_t size)
{
    uint32_t owner = KERNELS_MAX;

    for (uint32_t i = 0; i < instance.plan.range_count; i++) {
        const struct plan_range *range = &instance.plan.ranges[i];

        if (pa >= range->base + range->size || pa + size <= range->base)
            continue;
        if (pa < range->base || pa + size > range->base + range->size)
            return AUDIT_MIXED;
        owner = range->kernel;
    }
    return owner;
}

/* Tables made at boot are in the chunk's pool, which the allocator does not manage, or not as single frames. */
static bool own_use(uint64_t frame)
{
    uint64_t chunk = instance.plan.kernels[instance.kernel].chunk;

    return (frame >= chunk + instance.layout.pool && frame < chunk + instance.layout.size) ||
           (!frame_is_free(frame) && frame_spaces(frame) == 0);
}

static bool nobodys(uint64_t pa)
{
    return plan_range_of(&instance.plan, pa) == NULL;
}

/* What a kernel maps besides its own memory while programs are quiesced: see docs/design.md, Instances. */
static bool may_map(uint64_t va, uint64_t pa, bool write)
{
    if (va - (uint64_t)image_start < instance_text_shared()) /* another kernel's text and constants */
        return !write && pa == instance.text + (va - (uint64_t)image_start);
    if (va >= DEVICE_BASE && va < RING_BASE)
        return nobodys(pa);
    if (va >= RING_BASE && va < STACK_BASE)
        return msg_maps(va, pa, write);
    if (instance.kernel == 0 && ((va >= MODULE_BASE && va < TEMPLATE_BASE) || (va >= TEMPLATE_BASE && va < COPY_BASE)))
        return nobodys(pa) && !write;
    return false;
}

static void pause(void)
{
    slice_check();
}

void audit_tables(struct audit_report *report)
{
    uint64_t shared = instance_text_shared();
    struct audit_world world = {
        .kernel = instance.kernel,
        .owner = owner_of,
        .own_use = own_use,
        .may_map = may_map,
        .pause = pause,
        .image = instance.image + shared,
        .image_end = instance.image + image_size(&image_header),
        .image_va = (uint64_t)image_start + shared,
        .text_va = (uint64_t)image_start,
        .text_size = shared,
        .direct = DIRECT_BASE,
        .direct_end = WINDOW_BASE,
    };
    struct space *space;

    audit_kernel_tables(&world, &window_tables, report);
    for (uint64_t id = 0; (space = space_next(id)) != NULL;) {
        id = space->id + 1;
        audit_space_tables(&world, &space->tables, audit_owners_here(space), window_tables.root, space->id, report);
        space_put(space);
        slice_check();
    }
}

/* --- frames --- */

#define FRAMES_MOST 65536u /* for which the tables of all kernels are read once */
#define FRAMES_LEAST 4096u /* the same when memory is short */
#define FRAMES_A_LOOK 64u  /* frames between two looks whether the slice is over */
#define SEEN_MAPPED 0x80000000u
#define SEEN_EXCLUSIVE 0x40000000u
#define SEEN_OWNED 0x3fffffffu

/* What page tables and caches say of a frame. */
struct seen {
    uint32_t owned;  /* references, with SEEN_MAPPED, SEEN_EXCLUSIVE */
    uint32_t theirs; /* those of them that other kernels have */
};

struct frames {
    uint64_t start, end; /* physical */
    uint64_t part[AUDIT_PART / sizeof(uint64_t)];
    uint32_t room; /* frames that SEEN is for */
    struct seen seen[];
};

static size_t frames_size(uint32_t room)
{
    return sizeof(struct frames) + room * sizeof(struct seen);
}

static struct frames *frames_create(void)
{
    struct frames *frames = NULL;
    uint32_t room = FRAMES_MOST;

    while ((frames = heap_alloc_unset(frames_size(room))) == NULL && room > FRAMES_LEAST)
        room /= 2;
    if (frames != NULL)
        frames->room = room;
    return frames;
}

/* WORDS, COUNT of them, are KERNEL's. */
static void note(struct frames *frames, uint32_t kernel, const uint64_t *words, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t index = ((words[i] & PAGING_FRAME) - frames->start) / PAGE_SIZE;

        if (index >= (frames->end - frames->start) / PAGE_SIZE)
            continue;
        frames->seen[index].owned |= SEEN_MAPPED | ((words[i] & FRAME_EXCLUSIVE) != 0 ? SEEN_EXCLUSIVE : 0);
        if ((words[i] & FRAME_OWNED) != 0) {
            frames->seen[index].owned++;
            frames->seen[index].theirs += kernel != instance.kernel;
        }
        if (i % FRAMES_A_LOOK == 0)
            slice_check();
    }
}

/* Counts a reference to a frame of the cache of mapped files or of programs, or the kernel's own to the zero page. */
static void note_cached(uint64_t frame, void *context)
{
    struct frames *frames = context;

    if (frame >= frames->start && frame < frames->end)
        frames->seen[(frame - frames->start) / PAGE_SIZE].owned++;
}

/* Asks KERNEL which frames of this kernel its page tables name. */
static int ask(struct frames *frames, uint32_t kernel)
{
    struct msg_audit_frames message = {.start = frames->start, .end = frames->end};
    struct msg_audit_framed *head = (struct msg_audit_framed *)(void *)frames->part;
    int length;

    do {
        if (kernel == instance.kernel)
            length = (int)audit_frames_here(&message, head);
        else
            length = msg_call(kernel, MSG_AUDIT_FRAMES, &message, sizeof(message), frames->part, AUDIT_PART,
                              "frames for an audit", frames->start);
        if (length < 0)
            return length;
        note(frames, kernel, (const uint64_t *)(head + 1),
             (uint32_t)(((size_t)length - sizeof(*head)) / sizeof(uint64_t)));
        if (head->space != 0 &&
            (head->space < message.space || (head->space == message.space && head->va <= message.va)))
            return -EPROTO;
        message.space = head->space;
        message.va = head->va;
        slice_check();
    } while (message.space != 0);
    return 0;
}

/* Checks the count of a frame. */
static void check_frame(const struct audit_frame *frame, void *context)
{
    audit_check_frame(context, instance.kernel, frame);
}

/* Drops the references that no entry accounts for: a kernel that has died had them. The rest of those abroad are the
 * others'. */
static void reclaim_frame(const struct audit_frame *frame, void *context)
{
    int64_t *reclaimed = context;

    for (uint32_t left = frame->spaces; left > frame->owned; left--) {
        frame_release(frame->frame);
        (*reclaimed)++;
    }
    if (frame->spaces != 0 && frame->owned != 0)
        abroad_set(frame->frame, frame->theirs);
}

/* The kernels of ALL are asked. */
static int look(struct frames *frames, kernel_set all, void (*each)(const struct audit_frame *frame, void *context),
                void *context)
{
    struct frame_kept_place kept = {0};
    struct object_place place = {0};
    int error = 0;

    memset(frames->seen, 0, frames->room * sizeof(frames->seen[0]));
    slice_check();
    for (; all != 0 && error == 0; all &= all - 1)
        error = ask(frames, (uint32_t)__builtin_ctzll(all));
    slice_check();
    while (file_objects_some(&place, note_cached, frames))
        slice_check();
    slice_check();
    while (frame_kept_some(&kept, note_cached, frames))
        slice_check();
    slice_check();
    if (zero_page_frame() != 0)
        note_cached(zero_page_frame(), frames);
    for (uint64_t at = frames->start; at < frames->end && error == 0; at += PAGE_SIZE) {
        const struct seen *seen = &frames->seen[(at - frames->start) / PAGE_SIZE];
        struct audit_frame frame = {.frame = at,
                                    .spaces = frame_spaces(at),
                                    .owned = seen->owned & SEEN_OWNED,
                                    .abroad = abroad_count(at),
                                    .theirs = seen->theirs,
                                    .free = seen->owned != 0 && frame_is_free(at),
                                    .mapped = (seen->owned & SEEN_MAPPED) != 0,
                                    .exclusive = (seen->owned & SEEN_EXCLUSIVE) != 0};

        each(&frame, context);
        if (at / PAGE_SIZE % FRAMES_A_LOOK == 0)
            slice_check();
    }
    return error;
}

static int all_frames(kernel_set others, void (*each)(const struct audit_frame *frame, void *context), void *context)
{
    struct frames *frames = frames_create();
    int error = frames == NULL ? -ENOMEM : 0;

    for (uint32_t i = 0; i < instance.plan.range_count && error == 0; i++) {
        const struct plan_range *range = &instance.plan.ranges[i];

        if (range->kernel != instance.kernel)
            continue;
        for (uint64_t at = range->base; at < range->base + range->size && error == 0; at += frames->room * PAGE_SIZE) {
            uint64_t left = range->base + range->size - at;

            frames->start = at;
            frames->end = at + (left < frames->room * PAGE_SIZE ? left : frames->room * PAGE_SIZE);
            error = look(frames, others | 1ull << instance.kernel, each, context);
            slice_check();
        }
    }
    if (frames != NULL)
        heap_free(frames, frames_size(frames->room));
    return error;
}

int audit_frames(struct audit_report *report)
{
    return all_frames(msg_peers_reachable(), check_frame, report);
}

int64_t audit_reclaim(kernel_set others)
{
    int64_t reclaimed = 0;
    int error = all_frames(others, reclaim_frame, &reclaimed);

    return error != 0 ? error : reclaimed;
}
