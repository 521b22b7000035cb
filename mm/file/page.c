/* Pages of mapped files: the asker, and the kernel that has the file. See the header. */
#include "mm/file/page.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/window.h"
#include "mm/area/backing.h"
#include "mm/file/kept_page.h"
#include "mm/file/move.h"
#include "mm/file/object.h"
#include "mm/file/wire.h"
#include "mm/frame/abroad.h"
#include "mm/frame/content.h"
#include "mm/frame/frame.h"
#include "mm/frame/give.h"
#include "mm/frame/reference.h"
#include "mm/frame/wire.h"
#include "msg/call.h"
#include "msg/channel.h"
#include "msg/message.h"

/* As file_page_get of a file of this kernel, whose frame may be another kernel's: that kernel counts the reference, and
 * then the file must still have the frame. */
static int get_here(uint64_t backing, bool written, uint64_t *frame)
{
    uint64_t counted = 0;
    int error = file_object_page(backing, written, frame);

    for (; error == -EAGAIN || (error > 0 && *frame != counted); error = file_object_page(backing, written, frame)) {
        if (counted != 0)
            release_one(counted);
        counted = 0;
        if (error == -EAGAIN)
            file_move_wait(backing);
        else if ((error = share_frames(frame_owner(*frame), frame, 1)) == 0)
            counted = *frame;
        else if (error != -EPROTO) /* else the frame has gone meanwhile */
            return error == -ENOMEM ? -ENOMEM : -EHWPOISON;
    }
    if (error > 0)
        return 0;
    if (counted != 0)
        release_one(counted);
    return error;
}

int file_page_get(uint64_t backing, bool written, uint64_t *frame)
{
    uint32_t kernel = backing_kernel(backing);
    struct msg_file_page ask = {.backing = backing, .written = written};
    struct msg_frame answer;
    int length;

    if (kernel == instance.kernel)
        return get_here(backing, written, frame);
    if (!msg_peer_reachable(kernel))
        return -ENXIO;
    length = msg_call(kernel, MSG_FILE_PAGE, &ask, sizeof(ask), &answer, sizeof(answer), "page of a file", backing);
    if (length == -ENXIO || length == -EHWPOISON)
        return length;
    if (length != (int)sizeof(answer) || !frame_exists(answer.frame))
        return -ENOMEM;
    if (window_owns(answer.frame, PAGE_SIZE) && !abroad_take(answer.frame))
        return -ENOMEM; /* the file's kernel had no reference to give */
    *frame = answer.frame;
    return 0;
}

int file_page_copy(uint64_t backing, uint64_t *frame)
{
    uint64_t source;
    int error = file_page_get(backing, false, &source);

    if (error != 0)
        return error;
    *frame = frame_alloc_page(false);
    if (*frame != 0)
        frame_copy(*frame, source);
    else
        *frame = frame_from_peer(source);
    release_one(source);
    return *frame != 0 ? 0 : -ENOMEM;
}

int file_pages_resident(uint64_t backing, uint32_t count, uint64_t *pages)
{
    uint32_t kernel = backing_kernel(backing);
    struct msg_file_resident ask = {.backing = backing, .count = count};
    struct msg_file_residents answer;
    int length;

    *pages = 0;
    if (kernel == instance.kernel) {
        *pages = file_object_resident(backing, count);
        return 0;
    }
    if (!msg_peer_reachable(kernel))
        return 0;
    length = msg_call(kernel, MSG_FILE_RESIDENT, &ask, sizeof(ask), &answer, sizeof(answer), "pages in memory",
                      backing);
    if (length == (int)sizeof(answer))
        *pages = answer.pages;
    return length == -ENOMEM ? -ENOMEM : 0;
}

static void handle_resident(const struct msg *m)
{
    const struct msg_file_resident *ask = m->data;
    struct msg_file_residents answer;

    if (ask->count > FILE_RESIDENT_MAX) {
        msg_reply_error(&m->ticket, -EPROTO);
        return;
    }
    answer.pages = file_object_resident(ask->backing, (uint32_t)ask->count);
    msg_reply(&m->ticket, &answer, sizeof(answer));
}

static void handle_page(const struct msg *m)
{
    const struct msg_file_page *ask = m->data;
    struct msg_frame answer = {0};
    int error = backing_kernel(ask->backing) == instance.kernel
                    ? file_object_page(ask->backing, ask->written != 0, &answer.frame)
                    : -ENXIO;

    if (error == -EAGAIN || error > 0) {
        file_page_keep(m, ask);
        return;
    }
    if (error != 0) {
        msg_reply_error(&m->ticket, error);
        return;
    }
    abroad_add(answer.frame);
    msg_reply(&m->ticket, &answer, sizeof(answer));
}

void file_page_init(void)
{
    msg_register(MSG_FILE_PAGE, handle_page, sizeof(struct msg_file_page), sizeof(struct msg_frame));
    msg_register(MSG_FILE_RESIDENT, handle_resident, sizeof(struct msg_file_resident),
                 sizeof(struct msg_file_residents));
    file_move_init();
}
