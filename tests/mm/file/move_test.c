/* Moves of a file's pages at the file's kernel, with an object that the test stands in for: which frame each page's
 * move ends with, and that moves of this kernel end though no message can be sent.
 * sources: mm/file/move.c */
#include "mm/file/move.h"

#include <stdlib.h>

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/window.h"
#include "kernel/wait/completion.h"
#include "mm/area/backing.h"
#include "mm/file/object.h"
#include "mm/file/wire.h"
#include "mm/frame/abroad.h"
#include "mm/frame/frame.h"
#include "mm/frame/object_page.h"
#include "mm/frame/reference.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "msg/slice.h"
#include "tests/stand_in/heap.h"
#include "tests/test.h"

#define PAGES 4u
#define PEER 3u /* whose memory all frames are */
#define FRAME(n) ((uint64_t)(n)*PAGE_SIZE)

struct instance instance;

uint64_t rdtsc_unordered(void)
{
    return 0;
}

bool slice_pause(void)
{
    abort(); /* no slice is ever over */
}

static msg_handler handlers[MSG_TYPES];
static uint64_t frame[PAGES];  /* of each page */
static uint32_t moving[PAGES]; /* pages that move: 1 */
static bool no_slot;           /* no request can be sent */
static uint64_t answer[1];
static int result; /* of the last message: bytes, or a negative errno */

bool window_owns(uint64_t pa, uint64_t size)
{
    (void)pa;
    (void)size;
    return false;
}

uint32_t frame_owner(uint64_t pa)
{
    (void)pa;
    return PEER;
}

/* Of frames of this kernel, of which there are none. */
void abroad_add(uint64_t pa)
{
    CHECK_EQ(pa, 0);
}

bool abroad_take(uint64_t pa)
{
    CHECK_EQ(pa, 0);
    return false;
}

uint32_t frame_spaces(uint64_t pa)
{
    (void)pa;
    return 1;
}

bool frame_set_object_page(uint64_t pa, uint64_t backing)
{
    (void)pa;
    (void)backing;
    return true;
}

bool file_object_move_begin(uint64_t backing, uint64_t old)
{
    uint64_t page = backing_page(backing);

    if (frame[page] != old || moving[page] != 0)
        return false;
    moving[page] = 1;
    return true;
}

bool file_object_move_end(uint64_t backing, uint64_t old, struct frame_reference *new)
{
    uint64_t page = backing_page(backing);
    bool moves = moving[page] != 0 && frame[page] == old;

    if (moves) {
        moving[page] = 0;
        frame[page] = new->frame != 0 ? new->frame : old;
    }
    heap_free(new, sizeof(*new));
    return moves;
}

void completion_signal(struct completion *c)
{
    c->done = true;
}

void msg_wait(struct completion *done, const struct wait_reason *reason)
{
    (void)reason;
    CHECK(done->done);
}

void msg_register(enum msg_type type, msg_handler handler, uint32_t size, uint32_t reply_size)
{
    (void)size;
    (void)reply_size;
    handlers[type] = handler;
}

void msg_reply(const struct msg_ticket *ticket, const void *data, uint32_t length)
{
    (void)ticket;
    CHECK(length <= sizeof(answer));
    if (length != 0)
        memcpy(answer, data, length);
    result = (int)length;
}

void msg_reply_error(const struct msg_ticket *ticket, int error)
{
    (void)ticket;
    result = error;
}

static int take(uint32_t from, enum msg_type type, const void *data, uint32_t length)
{
    struct msg m = {
        .ticket = {.type = type & MSG_ROW_BITS, .kernel = from & MSG_SOURCE_BITS}, .length = length, .data = data};

    result = -EIO;
    handlers[type](&m);
    return result;
}

int msg_call_within(const struct msg_policy *policy, uint32_t kernel, enum msg_type type, const void *data,
                    uint32_t length, void *reply, uint32_t room, const char *why, uint64_t key)
{
    int got;

    (void)policy;
    (void)why;
    (void)key;
    CHECK_EQ(kernel, instance.kernel);
    if (no_slot)
        return -ENOMEM;
    got = take(kernel, type, data, length);
    if (got > 0) {
        CHECK(got <= (int)room);
        memcpy(reply, answer, (size_t)got);
    }
    return got;
}

static uint64_t begin(void)
{
    static bool registered;

    if (!registered)
        file_move_init();
    registered = true;
    instance.kernel = 1;
    no_slot = false;
    heap_objects = 0;
    for (uint32_t i = 0; i < PAGES; i++) {
        frame[i] = FRAME(1 + i);
        moving[i] = 0;
    }
    return backing_make(1, 7, 0);
}

static struct file_moving begun(uint64_t backing)
{
    struct file_moving moves;
    uint64_t frames[PAGES] = {FRAME(1), FRAME(2), 0, FRAME(9)};

    CHECK_EQ(file_move_begin(backing, PAGES, frames, &moves), 0);
    CHECK_EQ(moves.pages, 3); /* not the one that is not wanted, nor the one with another frame */
    return moves;
}

static void count_woken(struct file_waiter *waiter)
{
    waiter->object = 0;
}

TEST(file_move_own, "the moves of the file's own kernel end when no request can be sent, and who waits goes on")
{
    uint64_t backing = begin();
    struct file_moving moves = begun(backing);
    struct file_waiter waiter = {.object = backing_whole(backing), .woken = count_woken};

    no_slot = true;
    CHECK(file_move_await(&waiter));
    CHECK_EQ(file_move_end(&moves, 1, FRAME(20)), 0);
    CHECK_EQ(moves.pages, 2);
    CHECK_EQ(waiter.object, 0);
    CHECK_EQ(file_move_end(&moves, moves.pages, 0), 0);
    CHECK_EQ(moves.pages, 0);
    CHECK_EQ(frame[0], FRAME(20));
    CHECK_EQ(frame[1], FRAME(2));
    CHECK_EQ(moving[0] + moving[1], 0);
    CHECK_EQ(heap_objects, 0);
    CHECK_EQ(file_move_end(&moves, 1, 0), -EPROTO);
    waiter.object = backing_whole(backing);
    CHECK(!file_move_await(&waiter));
}

TEST(file_move_again, "a page that is made again and moves for another mover is left alone by the first one's end")
{
    uint64_t backing = begin();
    struct file_moving first = begun(backing), second;
    uint64_t again = FRAME(30);

    frame[0] = again; /* cut off, and written again */
    moving[0] = 0;
    CHECK_EQ(file_move_begin(backing, 1, &again, &second), 0);
    CHECK_EQ(second.pages, 1);
    CHECK_EQ(file_move_end(&first, 3, FRAME(40)), 0);
    CHECK_EQ(frame[0], again);
    CHECK_EQ(moving[0], 1);
    CHECK_EQ(frame[1], FRAME(41));
    CHECK_EQ(file_move_end(&second, 1, FRAME(50)), 0);
    CHECK_EQ(frame[0], FRAME(50));
    CHECK_EQ(heap_objects, 0);
}

TEST(file_move_dead, "what a kernel was moving when it died stays in its frames")
{
    uint64_t backing = begin(), words[4] = {backing, 5, 1, FRAME(1)};
    struct msg_file_moved end = {5, 1, FRAME(20)};

    CHECK_EQ(take(PEER, MSG_FILE_MOVE, words, sizeof(words)), 8);
    CHECK_EQ(answer[0], 1);
    CHECK_EQ(take(PEER + 1, MSG_FILE_MOVED, &end, sizeof(end)), -EPROTO);
    file_move_lost(PEER + 1);
    CHECK_EQ(moving[0], 1);
    file_move_lost(PEER);
    CHECK_EQ(moving[0], 0);
    CHECK_EQ(frame[0], FRAME(1));
    CHECK_EQ(take(PEER, MSG_FILE_MOVED, &end, sizeof(end)), -EPROTO);
    CHECK_EQ(heap_objects, 0);
}
