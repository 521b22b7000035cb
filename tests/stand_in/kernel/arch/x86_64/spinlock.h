/* Spinlocks for host tests, in place of the kernel's header of this path: one thread, so a lock that is taken while
 * held is a deadlock, and one that is released while free a mistake. Both end the program. It goes without stdlib.h,
 * which has names of its own for what kernel files define. */
#ifndef KERNEL_ARCH_SPINLOCK_H
#define KERNEL_ARCH_SPINLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct spinlock {
    volatile uint32_t held;
};

/* A test may define this, to be another CPU that comes right behind the release of LOCK. */
__attribute__((weak)) void spin_released(struct spinlock *lock);

static inline bool spin_try(struct spinlock *lock)
{
    bool free = lock->held == 0;

    lock->held = 1;
    return free;
}

static inline void spin_lock(struct spinlock *lock)
{
    if (!spin_try(lock)) {
        fprintf(stderr, "a spinlock is taken twice\n");
        __builtin_abort();
    }
}

static inline bool spin_try_alone(struct spinlock *lock)
{
    return spin_try(lock);
}

static inline void spin_lock_briefly(struct spinlock *lock)
{
    spin_lock(lock);
}

static inline void spin_unlock(struct spinlock *lock)
{
    if (lock->held == 0) {
        fprintf(stderr, "a spinlock is released that nobody holds\n");
        __builtin_abort();
    }
    lock->held = 0;
    if (spin_released != NULL)
        spin_released(lock);
}

static inline bool spin_held(const struct spinlock *lock)
{
    return lock->held != 0;
}

#endif
