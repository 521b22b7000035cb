/* A round of a move: every kernel that may map the pages performs an operation on its entries. See internal.h and
 * mm/move/move.md; mm/fault/still.c has the operations. */
#include "kernel/abi/errno.h"
#include "mm/fault/still.h"
#include "mm/move/internal.h"
#include "msg/call.h"

static int64_t apply_here(struct moving *moving)
{
    struct space *space = moving->space;
    int64_t value;

    spin_lock(&space->lock);
    if (moving->change.operation == MSG_SPACE_STILL)
        value = space_apply_still_locked(space, &moving->change);
    else if (moving->change.operation == MSG_SPACE_REPLACE)
        value = space_apply_replace_locked(space, &moving->change);
    else
        value = space_apply_writable_locked(space, &moving->change);
    spin_unlock(&space->lock);
    return value;
}

static void note_answer(void *context, uint32_t kernel, const void *reply, int length)
{
    struct moving *moving = context;

    (void)kernel;
    (void)reply;
    if (moving->error == 0 && length != (int)sizeof(struct msg_space_changed))
        moving->error = length < 0 ? length : -EPROTO;
}

/* The home is first: whoever gets a page from it afterwards gets it as it will be, and whoever has got one before is
 * asked, too. */
static void ask_home(struct moving *moving)
{
    static const struct msg_policy policy = {.end = WAIT_FIRM, .sure = true};
    struct space *space = moving->space;
    struct msg_space_changed changed = {0};
    int64_t value;

    if (space->home == instance.kernel) {
        value = apply_here(moving);
    } else {
        int length = msg_call_within(&policy, space->home, moving->change.operation, &moving->change,
                                     sizeof(moving->change), &changed, sizeof(changed), "move of pages", moving->start);

        value = length == (int)sizeof(changed) ? (int64_t)changed.value : length < 0 ? length : -EPROTO;
    }
    if (value < 0)
        moving->error = (int)value;
    else if (moving->change.operation != MSG_SPACE_STILL)
        moving->others |= space_still_kernels(value, space->home) & ~(1ull << instance.kernel);
}

static int round_of(struct moving *moving, enum msg_type operation, uint64_t chosen, uint64_t frame)
{
    struct space *space = moving->space;
    int64_t value;

    moving->change = (struct msg_space_change){.space = space->id,
                                               .start = moving->start,
                                               .length = moving->count * PAGE_SIZE,
                                               .operation = operation,
                                               .still = {chosen, frame}};
    moving->error = 0;
    ask_home(moving);
    if (moving->error == 0 || operation != MSG_SPACE_STILL)
        msg_multicast(moving->others, operation, &moving->change, sizeof(moving->change), note_answer, moving,
                      "move of pages", moving->start);
    if (space->home != instance.kernel) {
        value = apply_here(moving);
        if (value < 0 && moving->error == 0)
            moving->error = (int)value;
    }
    return moving->error;
}

int move_round(struct moving *moving, enum msg_type operation, uint64_t chosen, uint64_t frame)
{
    int error = round_of(moving, operation, chosen, frame), other = 0;

    if (moving->sharing != NULL && (error == 0 || operation != MSG_SPACE_STILL))
        other = move_sharers_round(moving->sharing, moving->having, operation, chosen, frame);
    return error != 0 ? error : other;
}

int move_replace(struct moving *moving, uint64_t set, uint64_t frame)
{
    int error, other;

    if (!move_in_file(moving))
        return move_round(moving, MSG_SPACE_REPLACE, set, frame);
    error = move_round(moving, MSG_SPACE_REPLACE, set, frame | SPACE_STILL_COW);
    other = file_move_end(&moving->file, set, frame); /* also after an error: threads may write to the new frames now */
    return error != 0 ? error : other;
}
