/* Pages of mapped files: the asker, and the kernel that has the file. See the header. */
#include "mm/file/page.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/window.h"
#include "mm/area/backing.h"
#include "mm/file/kept_page.h"
#include "mm/file/move.h"
#include "mm/file/object.h"
#include "mm/file/policy.h"
#include "mm/file/wire.h"
#include "mm/frame/abroad.h"
#include "mm/frame/frame.h"
#include "mm/frame/give.h"
#include "mm/frame/object_page.h"
#include "mm/frame/reference.h"
#include "mm/mempolicy/mempolicy.h"
#include "msg/channel.h"
#include "msg/message.h"
#include "msg/request/call.h"

/* --- where a new page is wanted --- */

struct file_want file_page_want(const struct msg_file_page *ask, struct placement *where)
{
    *where = (struct placement){.nodes = ask->nodes & policy_machine_nodes(),
                                .centre = ask->centre % NODES_MAX,
                                .strict = ask->strict != 0,
                                .interleave = ask->interleave != 0};
    return (struct file_want){.written = ask->written != 0,
                              .placed = ask->placed != 0 && ask->strict == 0,
                              .last = ask->last != 0,
                              .where = where};
}

/* The answer after -EXDEV, with what WANT has then. */
static struct msg_file_paged file_page_elsewhere(const struct file_want *want)
{
    return (struct msg_file_paged){.nodes = want->elsewhere.nodes,
                                   .centre = (uint16_t)want->elsewhere.centre,
                                   .strict = want->elsewhere.strict,
                                   .interleave = want->elsewhere.interleave,
                                   .kind = FILE_PAGED_ELSEWHERE};
}

/* --- a file of this kernel --- */

/* Gets the page a frame where WANT has found that it is wanted, or any frame of any kernel if ANY. The first time that
 * there is none, WANT becomes the last try; -ENOMEM: again. Another task may be faster. Waits. */
static int place_here(uint64_t backing, struct file_want *want, bool any)
{
    uint64_t frame = any ? frame_from_peer(0) : mempolicy_frame_placed(&want->elsewhere);
    int taken;

    if (frame == 0 && (any || want->last))
        return -ENOMEM;
    if (frame == 0) {
        want->last = true;
        return 0;
    }
    if (window_owns(frame, PAGE_SIZE))
        frame_share(frame);
    taken = file_object_take(backing, want->written, frame);
    if (taken <= 0)
        release_one(frame);
    if (taken < 0 && want->elsewhere.strict != 0)
        return taken;
    want->placed = taken < 0; /* then a frame that needs no reference */
    return 0;
}

/* As file_page_get of a file of this kernel, whose frame may be another kernel's: that kernel counts the reference, and
 * then the file must still have the frame. */
static int get_here(uint64_t backing, uint64_t address, bool written, uint64_t *frame)
{
    struct file_want want = {.written = written, .address = address};
    bool any = false; /* other kernels have been asked for any frame */
    uint64_t counted = 0;
    int error = file_object_page(backing, &want, frame);

    while (error == -EAGAIN || error == -EXDEV || (error == -ENOMEM && !any) || (error > 0 && *frame != counted)) {
        if (counted != 0)
            release_one(counted);
        counted = 0;
        if (error == -EAGAIN) {
            file_move_wait(backing);
        } else if (error < 0) {
            any = error == -ENOMEM;
            error = place_here(backing, &want, any);
            if (error != 0)
                return error;
        } else if ((error = share_frames(frame_owner(*frame), frame, 1)) == 0) {
            counted = *frame;
        } else if (error != -EPROTO) { /* else the frame has gone meanwhile */
            return error == -ENOMEM ? -ENOMEM : -EHWPOISON;
        }
        error = file_object_page(backing, &want, frame);
    }
    if (error > 0)
        return 0;
    if (counted != 0)
        release_one(counted);
    return error;
}

/* --- a file of another kernel --- */

/* A frame that this kernel sends along: it has a reference for the file, which is abroad, and one for this kernel. */
static uint64_t offer(const struct placement *where)
{
    uint64_t frame = mempolicy_frame_placed(where);

    if (frame != 0 && window_owns(frame, PAGE_SIZE)) {
        frame_share(frame);
        frame_share(frame);
        abroad_add(frame);
    } else if (frame != 0 && share_frames(frame_owner(frame), &frame, 1) != 0) {
        release_one(frame);
        frame = 0;
    }
    return frame;
}

/* The file has not taken FRAME. */
static void withdraw(uint64_t frame)
{
    if (frame == 0 || (window_owns(frame, PAGE_SIZE) && !abroad_take(frame)))
        return; /* a faulty kernel has released it */
    release_one(frame);
    release_one(frame);
}

/* Asks KERNEL. 0 or a negative errno. */
static int ask_for(uint32_t kernel, const struct msg_file_page *ask, struct msg_file_paged *answer)
{
    int length = msg_call(kernel, MSG_FILE_PAGE, ask, sizeof(*ask), answer, sizeof(*answer), "page of a file",
                          ask->backing);

    if (length == -ENXIO || length == -EHWPOISON)
        return length;
    if (length != (int)sizeof(*answer) ||
        (answer->kind == FILE_PAGED_TAKEN ? ask->frame == 0 || answer->frame != ask->frame
                                          : answer->kind == FILE_PAGED && !frame_exists(answer->frame)))
        return -ENOMEM;
    return answer->kind > FILE_PAGED_ELSEWHERE || (answer->kind == FILE_PAGED_ELSEWHERE && ask->placed != 0) ? -ENOMEM
                                                                                                             : 0;
}

/* Where a new page is wanted, by the ANSWER FILE_PAGED_ELSEWHERE. */
static struct placement wanted_by(const struct msg_file_paged *answer)
{
    return (struct placement){.nodes = answer->nodes & policy_machine_nodes(),
                              .centre = answer->centre % NODES_MAX,
                              .strict = answer->strict,
                              .interleave = answer->interleave};
}

/* As file_page_get of a file of KERNEL. A new page that is wanted elsewhere, or for which that kernel has no memory,
 * gets a frame that this kernel sends along. */
static int get_there(uint32_t kernel, uint64_t backing, uint64_t address, bool written, uint64_t *frame)
{
    struct msg_file_page ask = {.backing = backing, .written = written};
    struct msg_file_paged answer = {0};
    struct placement where;
    int error;

    mempolicy_place(NULL, address / PAGE_SIZE, mempolicy_own_node(), &where);
    ask.nodes = where.nodes;
    ask.centre = (uint16_t)where.centre;
    ask.strict = where.strict;
    ask.interleave = where.interleave;
    error = ask_for(kernel, &ask, &answer);
    if (error == 0 && answer.kind == FILE_PAGED_ELSEWHERE) {
        where = wanted_by(&answer);
        ask.frame = offer(&where);
        if (ask.frame == 0 && where.strict != 0) {
            ask.last = 1;
            error = ask_for(kernel, &ask, &answer);
        }
    }
    if ((error == 0 && answer.kind == FILE_PAGED_ELSEWHERE) || (error == -ENOMEM && where.strict == 0)) {
        if (error == 0)
            where = wanted_by(&answer);
        if (ask.frame == 0)
            ask.frame = offer(&where);
        if (ask.frame == 0 && (error != 0 || where.strict != 0))
            return -ENOMEM;
        ask.placed = 1;
        ask.strict = where.strict;
        error = ask_for(kernel, &ask, &answer);
    }
    if (ask.frame != 0 && (error != 0 || answer.kind != FILE_PAGED_TAKEN))
        withdraw(ask.frame);
    if (error != 0)
        return error;
    *frame = answer.frame;
    if (answer.kind == FILE_PAGED_TAKEN) {
        if (window_owns(answer.frame, PAGE_SIZE))
            frame_set_object_page(answer.frame, backing_name(backing));
        return 0;
    }
    if (window_owns(answer.frame, PAGE_SIZE) && !abroad_take(answer.frame))
        return -ENOMEM; /* the file's kernel had no reference to give */
    return 0;
}

int file_page_get(uint64_t backing, uint64_t address, bool written, uint64_t *frame)
{
    uint32_t kernel = backing_kernel(backing);

    if (kernel == instance.kernel)
        return get_here(backing, address, written, frame);
    return msg_peer_reachable(kernel) ? get_there(kernel, backing, address, written, frame) : -ENXIO;
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

/* Gives the page the frame of ASK, from KERNEL, unless it has one. -EPROTO: no kernel has that frame, or the sender no
 * reference to give; -ENOMEM, if no other frame will do. */
static int take(const struct msg_file_page *ask, bool *taken)
{
    uint64_t frame = ask->frame;
    bool ours = window_owns(frame, PAGE_SIZE);
    int error;

    if (ask->placed == 0 || !frame_exists(frame) ||
        (ours ? !abroad_take(frame) : !msg_peer_reachable(frame_owner(frame))))
        return -EPROTO;
    error = file_object_take(ask->backing, ask->written != 0, frame);
    *taken = error > 0;
    if (!*taken && ours)
        abroad_add(frame);
    if (*taken && ours)
        frame_set_object_page(frame, backing_name(ask->backing));
    return error < 0 && ask->strict != 0 ? error : 0;
}

int file_page_find(const struct msg_file_page *ask, struct msg_file_paged *answer)
{
    struct placement where;
    struct file_want want = file_page_want(ask, &where);
    bool taken = false;
    int error;

    do { /* again if the page had a frame, and then had none */
        error = ask->frame != 0 ? take(ask, &taken) : 0;
        *answer = (struct msg_file_paged){.frame = ask->frame, .kind = FILE_PAGED_TAKEN};
        if (error != 0 || taken)
            return error;
        *answer = (struct msg_file_paged){.kind = FILE_PAGED};
        error = file_object_page(ask->backing, &want, &answer->frame);
    } while (error == -EXDEV && ask->frame != 0);
    if (error == 0)
        abroad_add(answer->frame);
    if (error != -EXDEV)
        return error;
    *answer = file_page_elsewhere(&want);
    return 0;
}

static void handle_page(const struct msg *m)
{
    const struct msg_file_page *ask = m->data;
    struct msg_file_paged answer;
    int error = backing_kernel(ask->backing) != instance.kernel ? -ENXIO : file_page_find(ask, &answer);

    if (error == -EAGAIN || error > 0)
        file_page_keep(m, ask);
    else if (error != 0)
        msg_reply_error(&m->ticket, error);
    else
        msg_reply(&m->ticket, &answer, sizeof(answer));
}

void file_page_init(void)
{
    msg_register(MSG_FILE_PAGE, handle_page, sizeof(struct msg_file_page), sizeof(struct msg_file_paged));
    msg_register(MSG_FILE_RESIDENT, handle_resident, sizeof(struct msg_file_resident),
                 sizeof(struct msg_file_residents));
    file_move_init();
    file_policy_init();
}
