/* The pages that every program maps, and the time of day. See the header and kernel/vdso/time.md. */
#include "kernel/vdso/pages.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/base/layout.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/window.h"
#include "kernel/lib/log.h"
#include "kernel/lib/string.h"
#include "kernel/vdso/data.h"
#include "mm/frame/frame.h"
#include "msg/channel.h"
#include "tasks/remote/operation.h"
#include "tasks/remote/post.h"

#define PAGES 2u

struct msg_time { /* TIME */
    uint64_t epoch;
    uint64_t stamp; /* when EPOCH was set, ns of clock_read; the latest wins. 0: counters differ, EPOCH is unused */
    uint32_t kernel;
    uint32_t pad;
};

_Static_assert(sizeof(struct msg_time) == 24, "wire format");

extern const uint8_t vdso_image[], vdso_image_end[]; /* kernel/arch/x86_64/vdso_image.S */

static struct spinlock lock;   /* after the locks of spaces, before those of frames */
static uint64_t last_stamp;    /* [k] lock: of the TIME that has set the epoch */
static uint32_t last_kernel;   /* [k] lock */
static uint64_t frames[PAGES]; /* [k] lock; on kernel 0, each with a reference; 0: not mapped by any program yet */

static void fill(struct vdso_data *data)
{
    clock_conversion(&data->base, &data->multiplier);
    data->epoch = clock_epoch();
    __atomic_store_n(&data->usable, clock_differs() ? 0u : 1u, __ATOMIC_RELEASE);
}

static int make_page_locked(uint64_t page)
{
    uint64_t frame = frame_alloc_page(true);

    if (frame == 0)
        return -ENOMEM;
    if (page == 0)
        fill(window_direct(frame));
    else
        memcpy(window_direct(frame), vdso_image, (size_t)(vdso_image_end - vdso_image));
    frame_share(frame);
    frames[page] = frame;
    return 0;
}

int vdso_page(uint64_t page, uint64_t *frame)
{
    int error = 0;

    if (page >= PAGES)
        return -ENXIO;
    spin_lock(&lock);
    if (frames[page] == 0)
        error = make_page_locked(page);
    if (error == 0) {
        frame_share(frames[page]);
        *frame = frames[page];
    }
    spin_unlock(&lock);
    return error;
}

void vdso_each(void (*each)(uint64_t frame, void *context), void *context)
{
    for (uint32_t i = 0; i < PAGES; i++) {
        if (frames[i] != 0)
            each(frames[i], context);
    }
}

const char *vdso_name(uint64_t page)
{
    return page == 0 ? "[vvar]" : "[vdso]";
}

/* On kernel 0, updates [vvar]. Its words are written one at a time: each is valid together with old values of the
 * others. */
static void renew(void)
{
    spin_lock(&lock);
    if (frames[0] != 0)
        fill(window_direct(frames[0]));
    spin_unlock(&lock);
}

/* Applies MESSAGE if it is later than the last one: its stamp is larger, or equal with a higher kernel number. */
static void note(const struct msg_time *message)
{
    bool later;

    spin_lock(&lock);
    later = message->stamp > last_stamp || (message->stamp == last_stamp && message->kernel > last_kernel);
    if (later) {
        last_stamp = message->stamp;
        last_kernel = message->kernel;
        clock_set_epoch(message->epoch);
        instance.rates.epoch = message->epoch; /* for kernels that kernel 0 starts later */
    }
    spin_unlock(&lock);
    renew();
}

static int run(const struct remote_request *request, void *result)
{
    (void)result;
    note(request->data);
    return 0;
}

int time_set(uint64_t epoch)
{
    struct msg_time message = {.epoch = epoch, .stamp = clock_read(), .kernel = instance.kernel};
    int error = 0;

    note(&message);
    msg_gather(msg_peers_reachable(), MSG_TIME, &message, sizeof(message), msg_note_error, &error,
               "kernels to hear the time of day", 0);
    return error;
}

/* A thread has come from a kernel whose clock is ahead of this one. */
static void found_difference(void)
{
    struct msg_time message = {.stamp = 0};

    log_line("kernel: the counters of CPUs differ: programs have to ask for the time");
    if (instance.kernel == 0)
        renew();
    else
        post(0, MSG_TIME, &message, sizeof(message)); /* -ENOMEM: kernel 0 updates [vvar] only at its next TIME */
}

void vdso_init(void)
{
    clock_found_difference = found_difference;
    if (instance.kernel == 0 && clock_differs())
        log_line("kernel: the counters of CPUs differ: programs have to ask for the time");
    REMOTE_SERVE(TIME, run, NULL, struct msg_time, struct msg_none);
}
