/* The distributed lock of a range of a space. See the header. */
#include "mm/lock/lock.h"

#include "boot/options/options.h"
#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "mm/lock/internal.h"

bool space_ranges;

void lock_init(void)
{
    space_locking = option_is(instance.cmdline, "lock", "lamport") ? &space_lock_lamport : &space_lock_home;
    space_ranges = option_is(instance.cmdline, "ranges", "on");
    space_lock_home_init();
    space_lock_lamport_init();
}

uint64_t space_lock_count(void)
{
    return space_locking->count();
}

static struct space_range wide(struct space_range range)
{
    return space_ranges || range.end - range.start <= PAGE_SIZE ? range : SPACE_HEAVY;
}

/* KEEPS and TRIES are constants. */
static inline __attribute__((always_inline)) int acquire(struct space *space, struct space_range range, bool keeps,
                                                         bool tries, struct space_lock *lock)
{
    bool granted;
    int error;

    lock->range = wide(range);
    lock->keeps = keeps;
    lock->tries = tries;
    lock->outcome = LOCK_OVER;
    spin_lock(&space->lock);
    if (tries && space_locking->taken_locked(space, lock->range.start, lock->range.end)) {
        spin_unlock(&space->lock);
        return -EAGAIN;
    }
    space->slow++;
    space_count_lock_locked(&space->stats, lock->range);
    granted = space_locking->begin_locked(space, lock);
    spin_unlock(&space->lock);
    if (granted)
        return 0;
    error = space_locking->wait(space, lock);
    if (error != 0) {
        spin_lock(&space->lock);
        space->slow--;
        spin_unlock(&space->lock);
    }
    return error;
}

int space_acquire(struct space *space, struct space_range range, struct space_lock *lock)
{
    return acquire(space, range, false, false, lock);
}

int space_acquire_keeping(struct space *space, struct space_lock *lock)
{
    return acquire(space, SPACE_HEAVY, true, false, lock);
}

int space_try_acquire(struct space *space, struct space_range range, struct space_lock *lock)
{
    return acquire(space, range, false, true, lock);
}

void space_release(struct space *space, struct space_lock *lock)
{
    uint32_t notice = 0;

    spin_lock(&space->lock);
    space_locking->end_locked(space, lock, &notice);
    space->slow--;
    spin_unlock(&space->lock);
    completion_notify(notice);
    space_locking->notify(space, lock);
}

int space_lock_once(struct space *space, uint64_t start, uint64_t end)
{
    struct space_lock lock;
    int error = space_acquire(space, (struct space_range){start, end}, &lock);

    if (error == 0)
        space_release(space, &lock);
    return error;
}

void space_lock_forget(struct space *space, uint32_t kernel)
{
    if (space_locking->forget != NULL)
        space_locking->forget(space, kernel);
}

bool space_lock_survives(void)
{
    return space_locking->forget != NULL;
}
