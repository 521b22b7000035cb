/* A round of a move: every kernel that may map the pages performs an operation on its entries. See internal.h and
 * mm/move/move.md; mm/fault/still.c has the operations. */
#include "kernel/abi/errno.h"
#include "kernel/lib/log.h"
#include "mm/fault/still.h"
#include "mm/move/internal.h"
#include "msg/request/call.h"

int move_result_of(uint64_t start, int error)
{
    if (error == -ENOMEM)
        return error;
    if (error != -EAGAIN) /* other tasks hold locks, or an unmap has failed: that passes */
        log_line("mm: pages from %lx on do not move (error %d)", (unsigned long)start, error);
    return -EBUSY;
}

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

/* Of two errors, the one that says more: a death needs no answer, as the machine sees to what the dead kernel had. */
static int graver(int one, int other)
{
    return one == 0 || (one == -EHOSTDOWN && other != 0) ? other : one;
}

/* KERNEL has answered with ERROR, or 0. Who has refused new frames may refuse to go back. */
static void note(struct moving *moving, uint32_t kernel, int error)
{
    bool back = (moving->change.still.frame & SPACE_STILL_BACK) != 0;

    if (error == 0)
        return;
    if ((error == -EAGAIN || error == -EINVAL) && kernel != instance.kernel && !msg_peer_reachable(kernel))
        error = -EHOSTDOWN; /* it died before it was asked */
    if (moving->change.operation == MSG_SPACE_REPLACE && !back)
        moving->refused |= 1ull << kernel;
    if (!back || error == -EHOSTDOWN || (moving->refused >> kernel & 1) == 0)
        moving->error = graver(moving->error, error);
}

static void note_answer(void *context, uint32_t kernel, const void *reply, int length)
{
    (void)reply;
    note(context, kernel, length == (int)sizeof(struct msg_space_changed) ? 0 : length < 0 ? length : -EPROTO);
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
        note(moving, space->home, (int)value);
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
    if (operation == MSG_SPACE_REPLACE && (frame & SPACE_STILL_BACK) == 0)
        moving->refused = 0;
    ask_home(moving);
    if (moving->error == 0 || operation != MSG_SPACE_STILL)
        msg_multicast(moving->others, operation, &moving->change, sizeof(moving->change), note_answer, moving,
                      "move of pages", moving->start);
    if (space->home != instance.kernel) {
        value = apply_here(moving);
        note(moving, instance.kernel, value < 0 ? (int)value : 0);
    }
    return moving->error;
}

int move_round(struct moving *moving, enum msg_type operation, uint64_t chosen, uint64_t frame)
{
    int error = round_of(moving, operation, chosen, frame), other = 0;

    if (moving->sharing != NULL && (error == 0 || operation != MSG_SPACE_STILL))
        other = move_sharers_round(moving->sharing, moving->having, operation, chosen, frame);
    return graver(error, other);
}

int move_replace(struct moving *moving, uint64_t set, uint64_t frame)
{
    int error;

    if (!move_in_file(moving))
        return move_round(moving, MSG_SPACE_REPLACE, set, frame);
    error = move_round(moving, MSG_SPACE_REPLACE, set, frame | SPACE_STILL_COW);
    if (error != 0 && error != -EHOSTDOWN)
        return error;
    return graver(error, file_move_end(&moving->file, set, frame)); /* threads may write to the new frames now */
}

/* The frames before were not in a row, unless they were a block. */
int move_back(struct moving *moving, uint64_t set)
{
    int error = 0;
    uint64_t rest = set;

    do {
        uint64_t word = moving->words[rest != 0 ? __builtin_ctzll(rest) : 0], one = rest & -rest;
        bool stay = (word & MOVE_COW) == 0 || move_in_file(moving);

        error = graver(error, move_round(moving, MSG_SPACE_REPLACE, one,
                                         (word & PAGING_FRAME) | SPACE_STILL_BACK | (stay ? SPACE_STILL_COW : 0)));
        rest &= rest - 1;
    } while (rest != 0);
    return move_in_file(moving) ? graver(error, file_move_end(&moving->file, set, 0)) : error;
}
