/* Spinlocks of an instance with several CPUs. See the header. */
#include "kernel/arch/x86_64/spinlock.h"

#include "kernel/lib/panic.h"

bool spin_try_several(struct spinlock *lock)
{
    uint32_t free = 0;

    return __atomic_load_n(&lock->held, __ATOMIC_RELAXED) == 0 &&
           __atomic_compare_exchange_n(&lock->held, &free, cpu_index() + 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

void spin_lock_several(struct spinlock *lock)
{
    while (!spin_try_several(lock))
        cpu_relax();
}

_Noreturn void spin_lock_twice(const struct spinlock *lock)
{
    panic("lock: the spinlock at %p is taken by the CPU that holds it", (const void *)lock);
}
