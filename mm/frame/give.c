/* Frames of other kernels. See the header, and mm/retrieve/retrieval.md. A kernel gives none from its reserve.
 * Only who can be reached from every kernel is asked: others may map the frame, and have to ask its owner about it. */
#include "mm/frame/give.h"

#include "boot/plan/plan.h"
#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/window.h"
#include "mm/frame/abroad.h"
#include "mm/frame/content.h"
#include "mm/frame/frame.h"
#include "mm/frame/reference.h"
#include "mm/frame/wire.h"
#include "msg/channel.h"
#include "msg/message.h"
#include "msg/request/call.h"

static volatile uint32_t last_giver = KERNELS_MAX; /* [a] the kernel that gave the last frame is asked first */

static uint32_t distance(uint32_t kernel)
{
    const struct plan *plan = &instance.plan;

    return plan->distance[plan->kernels[instance.kernel].node][plan->kernels[kernel].node];
}

/* The nearest kernel of SET, or KERNELS_MAX if it is empty. Among equally near ones it is the next in order of numbers
 * after this kernel, so that not all kernels ask the same one. */
static uint32_t nearest(kernel_set set)
{
    uint32_t best = KERNELS_MAX;

    for (uint32_t i = 1; i < instance.plan.kernel_count; i++) {
        uint32_t kernel = (instance.kernel + i) % instance.plan.kernel_count;

        if ((set >> kernel & 1) != 0 && (best == KERNELS_MAX || distance(kernel) < distance(best)))
            best = kernel;
    }
    return best;
}

/* True when COUNT frames (1 to 512) from FRAME on are KERNEL's memory, and aligned as those of frame_alloc_run. */
static bool is_run_of(uint32_t kernel, uint64_t frame, uint64_t count)
{
    const struct plan_range *range = window_range_of(frame);
    uint64_t size = PAGE_SIZE;

    while (size < count * PAGE_SIZE)
        size *= 2;
    return range != NULL && range->kernel == kernel && frame + count * PAGE_SIZE <= range->base + range->size &&
           (frame & (size - 1)) == 0;
}

/* Asks KERNEL for what is WANTED; *COUNT becomes the number of frames. 0: it has none. */
static uint64_t ask(uint32_t kernel, const struct msg_frame_wanted *wanted, uint32_t *count)
{
    struct msg_frame_given given;
    int length = msg_call(kernel, MSG_FRAME_GIVE, wanted, sizeof(*wanted), &given, sizeof(given),
                          "frame of another kernel", wanted->frame);

    if (length != (int)sizeof(given) || given.count == 0 || given.count > (wanted->run != 0 ? wanted->run : 1) ||
        given.count < wanted->least || !is_run_of(kernel, given.frame, given.count))
        return 0;
    *count = (uint32_t)given.count;
    return given.frame;
}

uint64_t frame_from_peer(uint64_t source)
{
    struct msg_frame_wanted wanted = {.frame = source, .nodes = UINT64_MAX};
    kernel_set left = msg_peers_known();
    uint32_t kernel = last_giver, count;
    uint64_t frame;

    if (kernel == KERNELS_MAX || (left >> kernel & 1) == 0)
        kernel = nearest(left);
    for (; kernel != KERNELS_MAX; kernel = nearest(left)) {
        frame = ask(kernel, &wanted, &count);
        if (frame != 0) {
            last_giver = kernel;
            return frame;
        }
        left &= ~(1ull << kernel);
    }
    last_giver = KERNELS_MAX;
    return 0;
}

/* Asks the kernels that own memory of NODE, the nearest first. */
static uint64_t from_node(uint32_t node, const struct msg_frame_wanted *wanted, uint32_t *count)
{
    kernel_set owners = 0;
    uint64_t frame = 0;

    for (uint32_t i = 0; i < instance.plan.range_count; i++) {
        if (instance.plan.ranges[i].node == node)
            owners |= 1ull << instance.plan.ranges[i].kernel;
    }
    owners &= msg_peers_known();
    for (uint32_t kernel = nearest(owners); kernel != KERNELS_MAX && frame == 0; kernel = nearest(owners)) {
        owners &= ~(1ull << kernel);
        frame = ask(kernel, wanted, count);
    }
    return frame;
}

uint64_t frame_from_node(uint32_t node, uint64_t source)
{
    struct msg_frame_wanted wanted = {.frame = source, .nodes = 1ull << node};
    uint32_t count;

    return from_node(node, &wanted, &count);
}

uint64_t frame_run_from_node(uint32_t node, uint32_t most, uint32_t least, uint32_t *count)
{
    struct msg_frame_wanted wanted = {.nodes = 1ull << node, .run = most, .least = least};

    return from_node(node, &wanted, count);
}

static uint64_t give_run(const struct msg_frame_wanted *wanted, uint64_t *count)
{
    uint32_t got = 0;
    uint64_t frame = frame_alloc_run(wanted->nodes, wanted->run, &got);

    if (frame != 0 && got < wanted->least) {
        frame_release_run(frame, got);
        frame = 0;
    }
    *count = got;
    return frame;
}

static void handle_give(const struct msg *m)
{
    const struct msg_frame_wanted *wanted = m->data;
    bool copy = wanted->frame != 0;
    struct msg_frame_given given = {.count = 1};

    if (wanted->run > FRAME_RUN_PAGES || (copy && (wanted->run != 0 || (wanted->frame & (PAGE_SIZE - 1)) != 0 ||
                                                   frame_owner(wanted->frame) == KERNELS_MAX))) {
        msg_reply_error(&m->ticket, -EPROTO);
        return;
    }
    if (wanted->run != 0)
        given.frame = give_run(wanted, &given.count);
    else
        given.frame = frame_alloc_page_on(wanted->nodes, !copy);
    if (given.frame == 0) {
        msg_reply_error(&m->ticket, -ENOMEM);
        return;
    }
    if (copy)
        frame_copy(given.frame, wanted->frame);
    if (wanted->run == 0)
        frame_share(given.frame);
    for (uint64_t i = 0; i < given.count; i++)
        abroad_add(given.frame + i * PAGE_SIZE);
    msg_reply(&m->ticket, &given, sizeof(given));
}

void give_init(void)
{
    msg_register(MSG_FRAME_GIVE, handle_give, sizeof(struct msg_frame_wanted), sizeof(struct msg_frame_given));
}
