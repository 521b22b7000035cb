/* Spinlocks of an instance with several CPUs. See the header. */
#include "kernel/arch/x86_64/spinlock.h"

#include "kernel/lib/panic.h"

bool spin_try_several(struct spinlock *lock)
{
    return __atomic_load_n(&lock->held, __ATOMIC_RELAXED) == 0 &&
           __atomic_exchange_n(&lock->held, cpu_index() + 1, __ATOMIC_ACQUIRE) == 0;
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
