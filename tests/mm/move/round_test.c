/* The round in which frames are replaced, in this kernel's space, at another kernel, in another space and in a file,
 * when one of those does not answer.
 * sources: mm/move/round.c */
#include <stddef.h>

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "mm/fault/still.h"
#include "mm/move/internal.h"
#include "msg/call.h"
#include "tests/test.h"

#define FRAME (9 * PAGE_SIZE)
#define FILE_BACKING 77u

enum place { HERE, HOME, MEMBER, SPACE, FILE_OF, PLACES };

struct sharing {
    uint32_t unused;
};

struct instance instance;

static enum place dead; /* PLACES: none */
static uint64_t frames[PLACES];
static uint32_t steps, step[PLACES]; /* when each place has got its frame; 0: never */

static int set_frame(enum place place, uint64_t frame)
{
    if (place == dead)
        return -EIO;
    frames[place] = frame & ~(PAGE_SIZE - 1);
    step[place] = ++steps;
    return 0;
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

TEST(round_file, "when a kernel dies while frames are replaced, all others have the new ones, and the file at last")
{
    static struct space space;
    static struct moving moving;
    struct sharing sharing = {0};

    instance.kernel = 1; /* kernel 0 is the space's home */
    for (dead = HERE; dead <= PLACES; dead++) {
        memset(frames, 0, sizeof(frames));
        memset(step, 0, sizeof(step));
        steps = 0;
        moving = (struct moving){.space = &space,
                                 .sharing = &sharing,
                                 .having = 1,
                                 .file = {.backing = FILE_BACKING},
                                 .start = PAGE_SIZE,
                                 .count = 1,
                                 .others = 1u << 2};
        CHECK_EQ(move_replace(&moving, 1, FRAME), dead == PLACES ? 0 : -EIO);
        for (enum place place = HERE; place < PLACES; place++) {
            CHECK_EQ(frames[place], place == dead ? 0 : FRAME);
            CHECK(step[place] <= step[FILE_OF] || dead == FILE_OF);
        }
    }
}
