/* Ranges of a space that a task has for itself in the whole machine. See the header. */
#include "mm/lock/lock.h"

#include "boot/options/control.h"
#include "mm/lock/internal.h"

bool space_ranges;

void lock_init(void)
{
    static const struct space_locking *const lockings[] = {&space_lock_home, &space_lock_lamport};
    static const char *const switches[] = {"on", "off"};
    const char *const names[] = {lockings[0]->name, lockings[1]->name};

    space_locking = lockings[option_choose("mm", "lock", names, 2)];
    space_ranges = option_choose("mm", "ranges", switches, 2) == 0;
    space_lock_home_init();
    space_lock_lamport_init();
}

uint64_t space_lock_count(void)
{
    return space_locking->count();
}

static void slow_end(struct space *space)
{
    spin_lock(&space->lock);
    space->slow--;
    spin_unlock(&space->lock);
}

static struct space_range wide(struct space_range range)
{
    return space_ranges || range.end - range.start <= PAGE_SIZE ? range : SPACE_HEAVY;
}

int space_acquire(struct space *space, struct space_range range)
{
    int error;

    range = wide(range);
    spin_lock(&space->lock);
    space->slow++;
    space_count_lock_locked(space, range);
    spin_unlock(&space->lock);
    error = space_locking->acquire(space, range);
    if (error != 0)
        slow_end(space);
    return error;
}

void space_release(struct space *space, struct space_range range)
{
    space_locking->release(space, wide(range));
    slow_end(space);
}

int space_lock_once(struct space *space, uint64_t start, uint64_t end)
{
    struct space_range range = {start, end};
    int error = space_acquire(space, range);

    if (error == 0)
        space_release(space, range);
    return error;
}
