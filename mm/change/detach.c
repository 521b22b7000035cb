/* shmdt: unmaps what is left of the areas that one shmat has made. Each piece is looked up without a lock, locked,
 * looked up again and unmapped. See mm/change/change.h. */
#include "kernel/abi/errno.h"
#include "mm/change/change.h"
#include "mm/change/internal.h"
#include "mm/lock/lock.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"

struct piece {
    uint64_t start, end, object;
};

static int64_t look(struct space *space, uint64_t from, uint64_t base, enum space_look_at what)
{
    struct msg_space_change change = {.space = space->id,
                                      .start = from,
                                      .length = PAGE_SIZE,
                                      .operation = MSG_SPACE_LOOK,
                                      .look = {.what = what, .attached = base}};

    return from < USER_END ? space_ask_home(space, &change) : -ENOMEM;
}

/* Finds the first piece from FROM on that was mapped by a shmat at BASE. False: *ERROR; -ESRCH or -ENOMEM if there is
 * none. */
static bool find_piece(struct space *space, uint64_t from, uint64_t base, struct piece *piece, int *error)
{
    int64_t start = look(space, from, base, SPACE_LOOK_ATTACHED), end = 0, object = 0;

    if (start > 0)
        end = look(space, (uint64_t)start, base, SPACE_LOOK_ATTACHED_END);
    if (end > 0)
        object = look(space, (uint64_t)start, base, SPACE_LOOK_ATTACHED_OBJECT);
    *error = start < 0 ? (int)start : end < 0 ? (int)end : object < 0 ? (int)object : 0;
    *piece = (struct piece){(uint64_t)start, (uint64_t)end, (uint64_t)object};
    return *error == 0;
}

/* Unmaps PIECE. -EAGAIN: it has changed since it was looked up. */
static int remove_piece(struct space *space, uint64_t base, const struct piece *piece)
{
    struct space_range range = {piece->start, piece->end};
    struct piece now;
    struct space_lock lock;
    int error = space_acquire(space, range, &lock);

    if (error != 0)
        return error;
    space_count_change(space);
    if (!find_piece(space, piece->start, base, &now, &error))
        error = error == -ESRCH ? -EAGAIN : error;
    else if (now.start != piece->start || now.end != piece->end || now.object != piece->object)
        error = -EAGAIN;
    if (error == 0) {
        space_lock_gone(&lock, range);
        error = space_unmap_everywhere(space, &lock, piece->start, piece->end - piece->start);
    }
    space_release(space, &lock);
    return error;
}

int space_detach(struct space *space, uint64_t address)
{
    uint64_t from = address, object = 0;
    struct piece piece;
    int error;

    if ((address & (PAGE_SIZE - 1)) != 0)
        return -EINVAL;
    while (find_piece(space, from, address, &piece, &error)) {
        if (object != 0 && piece.object != object) {
            from = piece.end;
            continue;
        }
        error = remove_piece(space, address, &piece);
        if (error == -EAGAIN)
            continue;
        if (error != 0)
            return error;
        object = piece.object;
        from = piece.end;
    }
    if (error != -ESRCH && error != -ENOMEM)
        return error;
    return object != 0 ? 0 : -EINVAL;
}
