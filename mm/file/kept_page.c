/* FILE_PAGE requests that are kept. See the header.
 *
 * Another kernel's frame: its owner is asked to count the asker's reference. When it has, the file must still have the
 * frame, and the page must not move: a mover counts references after it has marked the page, and so misses none that is
 * answered. Otherwise the reference is dropped, and everything begins again. */
#include "mm/file/kept_page.h"

#include <stddef.h>

#include "kernel/abi/errno.h"
#include "kernel/lib/list.h"
#include "mm/area/backing.h"
#include "mm/file/move.h"
#include "mm/file/object.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"
#include "mm/frame/reference.h"
#include "mm/frame/wire.h"
#include "msg/message.h"
#include "msg/request/call.h"

struct kept_page {
    struct file_waiter waiter;
    struct msg_file_page ask;
    struct msg_kept kept;
    struct msg_asking asking; /* the owner of FRAME */
    uint64_t frame;           /* in which a reference is being counted or dropped */
};

static void look(struct kept_page *page);

static void answered(struct msg_kept *kept)
{
    heap_free(container_of(kept, struct kept_page, kept), sizeof(struct kept_page));
}

static void answer(struct kept_page *page, int error, const struct msg_file_paged *result)
{
    if (error != 0)
        msg_kept_reply_error(&page->kept, error, answered);
    else
        msg_kept_reply(&page->kept, result, sizeof(*result), answered);
}

static void woken(struct file_waiter *waiter)
{
    look(container_of(waiter, struct kept_page, waiter));
}

static void dropped(void *context, uint32_t kernel, const void *reply, int length)
{
    (void)kernel;
    (void)reply;
    (void)length; /* the owner may have died, and its count with it */
    look(context);
}

static void counted(void *context, uint32_t kernel, const void *reply, int length)
{
    struct kept_page *page = context;
    struct msg_file_paged result = {.kind = FILE_PAGED};
    struct placement where;
    struct file_want want = file_page_want(&page->ask, &where);
    int error;

    (void)reply;
    if (length == -EPROTO) { /* the frame has gone meanwhile */
        look(page);
        return;
    }
    if (length < 0) {
        answer(page, length == -ENOMEM ? -ENOMEM : -EHWPOISON, NULL);
        return;
    }
    error = file_object_page(page->ask.backing, &want, &result.frame);
    if (error > 0 && result.frame == page->frame) {
        answer(page, 0, &result);
        return;
    }
    if (error == 0)
        frame_release(result.frame);
    msg_ask(&page->asking, kernel, MSG_FRAME_RELEASE, &page->frame, sizeof(page->frame), dropped, page);
}

/* Answers PAGE, or begins to wait for what it lacks. */
static void look(struct kept_page *page)
{
    struct msg_file_paged result;
    int error;

    do {
        error = file_page_find(&page->ask, &result);
    } while (error == -EAGAIN && !file_move_await(&page->waiter));
    if (error == -EAGAIN)
        return;
    if (error <= 0) {
        answer(page, error, &result);
        return;
    }
    page->frame = result.frame;
    msg_ask(&page->asking, frame_owner(page->frame), MSG_FRAME_SHARE, &page->frame, sizeof(page->frame), counted, page);
}

void file_page_keep(const struct msg *m, const struct msg_file_page *ask)
{
    struct kept_page *page = heap_alloc(sizeof(*page));

    if (page == NULL) {
        msg_reply_error(&m->ticket, -ENOMEM);
        return;
    }
    page->waiter.object = backing_whole(ask->backing);
    page->waiter.woken = woken;
    page->ask = *ask;
    msg_keep(m, &page->kept, NULL);
    look(page);
}
