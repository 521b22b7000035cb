/* Pages of files that move: the mover's messages, and at the file's kernel the moves under way with whoever waits for
 * their end. See the header. What a page's frame is, and whether it moves, the object itself knows (mm/file/object.h).
 *
 * A move is in the list before its first page is marked, and until its last page is marked no more: so whoever has
 * found a page moving, and then finds no move of its object in the list, need not wait. */
#include "mm/file/move.h"

#include <stddef.h>

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/window.h"
#include "kernel/lib/list.h"
#include "kernel/wait/completion.h"
#include "mm/area/backing.h"
#include "mm/file/object.h"
#include "mm/file/wire.h"
#include "mm/frame/abroad.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"
#include "mm/frame/object_page.h"
#include "mm/frame/reference.h"
#include "msg/message.h"
#include "msg/request/call.h"
#include "msg/slice.h"

#define MOVE_PAGES 64u /* at most */

/* --- the file's kernel --- */

struct move {
    struct list node;
    uint32_t kernel;                           /* [i] the mover's */
    uint64_t token;                            /* [i] */
    uint64_t backing;                          /* [i] of the first page */
    uint64_t pages;                            /* [k] a bit for each page that is still marked */
    struct frame_reference *spare[MOVE_PAGES]; /* of each marked page: has the frame that it had, until its end */
};

static struct spinlock lock; /* taken alone */
static struct list moves;    /* [k] */
static struct list waiters;  /* [k] struct file_waiter */

static bool is_under_way_locked(uint64_t object)
{
    list_for_each(node, &moves) {
        if (backing_whole(container_of(node, struct move, node)->backing) == object)
            return true;
    }
    return false;
}

bool file_move_await(struct file_waiter *waiter)
{
    bool waits;

    spin_lock(&lock);
    waits = is_under_way_locked(waiter->object);
    if (waits)
        list_append(&waiters, &waiter->node);
    spin_unlock(&lock);
    return waits;
}

struct waiting_task {
    struct file_waiter waiter;
    struct completion done;
};

static void wake_task(struct file_waiter *waiter)
{
    completion_signal(&container_of(waiter, struct waiting_task, waiter)->done);
}

void file_move_wait(uint64_t backing)
{
    static const struct wait_reason reason = {.what = "page of a file that moves", .kernel = -1};
    struct waiting_task task = {.waiter = {.object = backing_whole(backing), .woken = wake_task}};

    completion_init(&task.done);
    if (file_move_await(&task.waiter))
        msg_wait(&task.done, &reason);
}

/* A move of OBJECT has ended: whoever waits looks again. */
static void settle(uint64_t object)
{
    struct list woken;

    list_init(&woken);
    spin_lock(&lock);
    list_for_each_safe(node, &waiters) {
        if (container_of(node, struct file_waiter, node)->object != object)
            continue;
        list_remove(node);
        list_append(&woken, node);
    }
    spin_unlock(&lock);
    list_for_each_safe(node, &woken) {
        struct file_waiter *waiter = container_of(node, struct file_waiter, node);

        list_remove(node);
        waiter->woken(waiter);
    }
}

/* The pages of CHOSEN, which are not in MOVE->pages any more, move no more. MOVE goes with its last page. */
static void end_pages(struct move *move, uint64_t chosen, uint64_t frame)
{
    uint64_t object = backing_whole(move->backing);
    bool over;

    for (; chosen != 0; chosen &= chosen - 1, frame += frame != 0 ? PAGE_SIZE : 0) {
        uint32_t i = (uint32_t)__builtin_ctzll(chosen);

        struct frame_reference *spare = move->spare[i];
        uint64_t old = spare->frame;

        spare->frame = frame;
        if (file_object_move_end(move->backing + i, old, spare) && frame != 0 && window_owns(frame, PAGE_SIZE))
            frame_set_object_page(frame, move->backing + i);
    }
    spin_lock(&lock);
    over = move->pages == 0;
    if (over)
        list_remove(&move->node);
    spin_unlock(&lock);
    if (over)
        heap_free(move, sizeof(*move));
    settle(object);
}

static void handle_move(const struct msg *m)
{
    const struct msg_file_move *ask = m->data;
    const uint64_t *frames = (const uint64_t *)(ask + 1);
    struct msg_file_moves answer = {0};
    struct move *move;

    if (ask->count == 0 || ask->count > MOVE_PAGES || m->length != sizeof(*ask) + ask->count * sizeof(frames[0]) ||
        !backing_is_file(ask->backing) || backing_page(ask->backing) + ask->count > BACKING_PAGES) {
        msg_reply_error(&m->ticket, -EPROTO);
        return;
    }
    move = heap_alloc(sizeof(*move));
    if (move == NULL) {
        msg_reply_error(&m->ticket, -ENOMEM);
        return;
    }
    move->kernel = m->ticket.kernel;
    move->token = ask->token;
    move->backing = backing_whole(ask->backing) + backing_page(ask->backing);
    spin_lock(&lock);
    list_append(&moves, &move->node);
    spin_unlock(&lock);
    for (uint32_t i = 0; i < ask->count; i++) {
        move->spare[i] = frames[i] != 0 ? heap_alloc(sizeof(*move->spare[i])) : NULL;
        if (move->spare[i] == NULL)
            continue; /* a page for which there is no memory stays */
        move->spare[i]->frame = frames[i];
        if (file_object_move_begin(move->backing + i, frames[i]))
            answer.pages |= 1ull << i;
        else
            heap_free(move->spare[i], sizeof(*move->spare[i]));
    }
    spin_lock(&lock);
    move->pages = answer.pages;
    spin_unlock(&lock);
    if (answer.pages == 0)
        end_pages(move, 0, 0);
    msg_reply(&m->ticket, &answer, sizeof(answer));
}

/* Takes CHOSEN from the pages of the mover's move; NULL: it has no such move. */
static struct move *take(uint32_t kernel, uint64_t token, uint64_t chosen)
{
    struct move *found = NULL;

    spin_lock(&lock);
    list_for_each(node, &moves) {
        struct move *move = container_of(node, struct move, node);

        if (move->kernel == kernel && move->token == token && (chosen & ~move->pages) == 0)
            found = move;
    }
    if (found != NULL)
        found->pages &= ~chosen;
    spin_unlock(&lock);
    return found;
}

/* Gives back the mover's references to the COUNT frames from FRAME on, as far as they are this kernel's memory. */
static void give_back(uint64_t frame, uint32_t count)
{
    for (; count > 0; count--, frame += PAGE_SIZE) {
        if (frame_owner(frame) == instance.kernel)
            abroad_add(frame);
    }
}

/* The mover's references to the COUNT frames from FRAME on become the file's; what counts as abroad of this kernel's
 * memory does so no more. False, and nothing has changed: one is no kernel's memory, or the mover has none of it. */
static bool take_references(uint64_t frame, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t at = frame + i * PAGE_SIZE;

        if (!frame_exists(at) || (frame_owner(at) == instance.kernel && !abroad_take(at))) {
            give_back(frame, i);
            return false;
        }
    }
    return true;
}

/* What the mover's FILE_MOVED says is done. -EPROTO: it has no such move. Any context. */
static int moved(uint32_t kernel, const struct msg_file_moved *end)
{
    uint32_t count = end->frame != 0 ? kernel_set_count(end->chosen) : 0;
    struct move *move = NULL;

    if (end->chosen != 0 && take_references(end->frame, count)) {
        move = take(kernel, end->token, end->chosen);
        if (move == NULL)
            give_back(end->frame, count);
    }
    if (move == NULL)
        return -EPROTO;
    end_pages(move, end->chosen, end->frame);
    return 0;
}

static void handle_moved(const struct msg *m)
{
    int error = moved(m->ticket.kernel, m->data);

    if (error != 0)
        msg_reply_error(&m->ticket, error);
    else
        msg_reply(&m->ticket, NULL, 0);
}

void file_move_lost(uint32_t kernel)
{
    struct move *lost;

    do {
        uint64_t pages = 0;

        lost = NULL;
        spin_lock(&lock);
        list_for_each(node, &moves) {
            struct move *move = container_of(node, struct move, node);

            if (move->kernel != kernel || move->pages == 0) /* one without pages is about to go */
                continue;
            lost = move;
            pages = move->pages;
            move->pages = 0;
            break;
        }
        spin_unlock(&lock);
        if (lost != NULL)
            end_pages(lost, pages, 0);
        slice_check();
    } while (lost != NULL);
}

void file_move_init(void)
{
    list_init(&moves);
    list_init(&waiters);
    msg_register(MSG_FILE_MOVE, handle_move, sizeof(struct msg_file_move), sizeof(struct msg_file_moves));
    msg_register(MSG_FILE_MOVED, handle_moved, sizeof(struct msg_file_moved), 0);
}

/* --- the mover --- */

int file_move_begin(uint64_t backing, uint32_t count, const uint64_t *frames, struct file_moving *moving)
{
    static const struct msg_policy policy = {.end = WAIT_FIRM};
    static uint64_t tokens; /* [a] */
    struct {
        struct msg_file_move head;
        uint64_t frames[MOVE_PAGES];
    } ask = {.head = {.backing = backing, .token = __atomic_add_fetch(&tokens, 1, __ATOMIC_RELAXED), .count = count}};
    struct msg_file_moves answer;
    int length;

    *moving = (struct file_moving){.backing = backing, .token = ask.head.token};
    for (uint32_t i = 0; i < count; i++)
        ask.frames[i] = frames[i];
    length = msg_call_within(&policy, backing_kernel(backing), MSG_FILE_MOVE, &ask,
                             (uint32_t)(sizeof(ask.head) + count * sizeof(frames[0])), &answer, sizeof(answer),
                             "pages of a file that are to move", backing);
    if (length != (int)sizeof(answer))
        return length < 0 ? length : -EPROTO;
    moving->pages = count < MOVE_PAGES ? answer.pages & ((1ull << count) - 1) : answer.pages;
    return 0;
}

int file_move_end(struct file_moving *moving, uint64_t chosen, uint64_t frame)
{
    static const struct msg_policy policy = {.end = WAIT_FIRM, .sure = true};
    struct msg_file_moved end = {moving->token, chosen, frame};
    uint32_t kernel = backing_kernel(moving->backing);
    int length;

    moving->pages &= ~chosen;
    if (kernel == instance.kernel) /* a request to this kernel could fail for want of a slot */
        return moved(kernel, &end);
    length = msg_call_within(&policy, kernel, MSG_FILE_MOVED, &end, sizeof(end), NULL, 0,
                             "pages of a file that have moved", moving->backing);
    return length < 0 ? length : 0;
}
