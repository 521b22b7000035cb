/* The rounds in which frames are replaced, and go back, in this kernel's space, at another kernel, in another space and
 * in a file, when one of those does not answer, or refuses.
 * sources: mm/move/round.c */
#include <stddef.h>

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/log.h"
#include "mm/fault/still.h"
#include "mm/move/internal.h"
#include "msg/request/call.h"
#include "tests/test.h"

#define FRAME (9 * PAGE_SIZE)
#define OLD (5 * PAGE_SIZE)
#define FILE_BACKING 77u

enum place { HERE, HOME, MEMBER, SPACE, FILE_OF, PLACES };

struct sharing {
    uint32_t unused;
};

struct instance instance;

static uint32_t logged;           /* lines */
static enum place dead;           /* PLACES: none */
static int death;                 /* what a call to the dead place returns, or to a member that was gone before */
static enum place refuses, stays; /* the new frame; to go back: PLACES: none */
static uint64_t frames[PLACES];
static uint32_t steps, step[PLACES]; /* when each place has got its frame; 0: never */

void log_line(const char *format, ...)
{
    (void)format;
    logged++;
}

static int set_frame(enum place place, uint64_t frame)
{
    bool back = place == FILE_OF ? frame == 0 : (frame & SPACE_STILL_BACK) != 0;

    if (place == dead)
        return place == HOME || place == MEMBER ? death : -EHOSTDOWN;
    if (place == (back ? stays : refuses))
        return -EPROTO;
    frames[place] = frame & ~(PAGE_SIZE - 1);
    step[place] = ++steps;
    return 0;
}

bool msg_peer_reachable(uint32_t kernel)
{
    return !(dead == HOME && kernel == 0) && !(dead == MEMBER && kernel == 2);
}

int64_t space_apply_replace_locked(struct space *space, const struct msg_space_change *change)
{
    (void)space;
    return set_frame(HERE, change->still.frame);
}

int64_t space_apply_still_locked(struct space *space, const struct msg_space_change *change)
{
    (void)space;
    (void)change;
    CHECK(false);
    return 0;
}

int64_t space_apply_writable_locked(struct space *space, const struct msg_space_change *change)
{
    return space_apply_still_locked(space, change);
}

int msg_call_within(const struct msg_policy *policy, uint32_t kernel, enum msg_type type, const void *data,
                    uint32_t length, void *reply, uint32_t room, const char *why, uint64_t key)
{
    const struct msg_space_change *change = data;
    struct msg_space_changed *changed = reply;
    int error = set_frame(HOME, change->still.frame);

    (void)policy;
    (void)why;
    (void)key;
    CHECK_EQ(kernel, 0);
    CHECK_EQ(type, MSG_SPACE_REPLACE);
    CHECK_EQ(length, sizeof(*change));
    if (error != 0)
        return error;
    changed->value = 0;
    return (int)room;
}

void msg_multicast(kernel_set set, enum msg_type type, const void *data, uint32_t length, msg_answer each,
                   void *context, const char *why, uint64_t key)
{
    const struct msg_space_change *change = data;
    struct msg_space_changed changed = {0};
    int error = set_frame(MEMBER, change->still.frame);

    (void)type;
    (void)length;
    (void)why;
    (void)key;
    CHECK_EQ(set, 1u << 2);
    each(context, 2, &changed, error != 0 ? error : (int)sizeof(changed));
}

int move_sharers_round(const struct sharing *sharing, uint64_t having, enum msg_type operation, uint64_t chosen,
                       uint64_t frame)
{
    (void)sharing;
    CHECK_EQ(having, 1);
    CHECK_EQ(operation, MSG_SPACE_REPLACE);
    CHECK_EQ(chosen, 1);
    return set_frame(SPACE, frame);
}

int file_move_end(struct file_moving *moving, uint64_t chosen, uint64_t frame)
{
    CHECK_EQ(moving->backing, FILE_BACKING);
    CHECK_EQ(chosen, 1);
    return set_frame(FILE_OF, frame);
}

/* The page at START has frame OLD in all places, and other processes may have it (MOVE_COW) or not. */
static void begin(struct moving *moving, struct space *space, struct sharing *sharing, uint64_t cow)
{
    for (enum place place = HERE; place < PLACES; place++)
        frames[place] = OLD;
    memset(step, 0, sizeof(step));
    steps = 0;
    *moving = (struct moving){.space = space,
                              .sharing = sharing,
                              .having = sharing != NULL ? 1 : 0,
                              .file = {.backing = FILE_BACKING},
                              .start = PAGE_SIZE,
                              .count = 1,
                              .words = {OLD | cow},
                              .others = 1u << 2};
}

TEST(round_file, "when a kernel dies while frames are replaced, all others have the new ones, and the file at last")
{
    static struct space space;
    static struct moving moving;
    struct sharing sharing = {0};

    instance.kernel = 1; /* kernel 0 is the space's home */
    refuses = stays = PLACES;
    for (uint32_t i = 0; i < 2 * (PLACES + 1); i++) {
        dead = (enum place)(i / 2);
        death = i % 2 == 0 ? -EHOSTDOWN : -EAGAIN; /* it was not asked */
        begin(&moving, &space, &sharing, 0);
        CHECK_EQ(move_replace(&moving, 1, FRAME), dead == PLACES ? 0 : -EHOSTDOWN);
        for (enum place place = HERE; place < PLACES; place++) {
            CHECK_EQ(frames[place], place == dead ? OLD : FRAME);
            CHECK(step[place] <= step[FILE_OF] || dead == FILE_OF);
        }
    }
    death = -EHOSTDOWN;
}

/* Which of the kernels of the mover's own space, whose answers it gets itself, PLACE is. */
static bool is_own(enum place place)
{
    return place <= MEMBER;
}

TEST(round_refused, "when a kernel, another space or the file refuses new frames, all have the old ones again")
{
    static struct space space;
    static struct moving moving;
    struct sharing sharing = {0};

    instance.kernel = 1;
    dead = PLACES;
    for (refuses = HERE; refuses < PLACES; refuses++) {
        for (stays = HERE; stays <= PLACES; stays++) {
            int back = stays == PLACES || (stays == refuses && is_own(stays)) ? 0 : -EPROTO;

            begin(&moving, &space, &sharing, 0);
            CHECK_EQ(move_replace(&moving, 1, FRAME), -EPROTO);
            CHECK_EQ(frames[refuses], OLD);
            CHECK_EQ(step[FILE_OF], 0);
            CHECK_EQ(move_back(&moving, 1), back);
            for (enum place place = HERE; place < PLACES; place++)
                CHECK_EQ(frames[place], place == FILE_OF ? (stays == FILE_OF ? OLD : 0) /* none named: it stays */
                                        : place == stays && place != refuses && refuses != PLACES ? FRAME
                                                                                                  : OLD);
        }
    }
}

TEST(round_death_back, "a kernel that dies before it has gone back counts as one that does not")
{
    static struct space space;
    static struct moving moving;
    struct sharing sharing = {0};

    instance.kernel = 1;
    refuses = MEMBER;
    stays = PLACES;
    dead = PLACES;
    begin(&moving, &space, &sharing, 0);
    CHECK_EQ(move_replace(&moving, 1, FRAME), -EPROTO);
    dead = MEMBER;
    CHECK_EQ(move_back(&moving, 1), -EHOSTDOWN);
    dead = SPACE;
    begin(&moving, &space, &sharing, 0);
    CHECK_EQ(move_replace(&moving, 1, FRAME), -EPROTO); /* a refusal is graver than a death */
    CHECK_EQ(move_back(&moving, 1), -EHOSTDOWN);
    dead = PLACES;
}

TEST(round_cow, "a page that others may have is copy-on-write again when it is back, and others are not")
{
    static struct space space;
    static struct moving moving;

    instance.kernel = 1;
    dead = stays = PLACES;
    refuses = MEMBER;
    for (uint64_t cow = 0; cow <= MOVE_COW; cow++) {
        begin(&moving, &space, NULL, cow);
        CHECK_EQ(move_replace(&moving, 1, FRAME), -EPROTO);
        CHECK_EQ(moving.change.still.frame, FRAME);
        CHECK_EQ(move_back(&moving, 1), 0);
        CHECK_EQ(moving.change.still.frame, OLD | SPACE_STILL_BACK | (cow != 0 ? 0 : SPACE_STILL_COW));
    }
}

TEST(round_result, "only want of memory is reported as that, and the log has what does not pass by itself")
{
    logged = 0;
    CHECK_EQ(move_result_of(PAGE_SIZE, -ENOMEM), -ENOMEM);
    CHECK_EQ(move_result_of(PAGE_SIZE, -EAGAIN), -EBUSY);
    CHECK_EQ(logged, 0);
    CHECK_EQ(move_result_of(PAGE_SIZE, -EHOSTDOWN), -EBUSY);
    CHECK_EQ(move_result_of(PAGE_SIZE, -EPROTO), -EBUSY);
    CHECK_EQ(logged, 2);
}
