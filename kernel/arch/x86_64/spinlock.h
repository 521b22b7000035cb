/* Spinlocks between the CPUs of one instance. Never shared between instances.
 *
 * Kernel code runs with interrupts off, so a lock holder is not interrupted. A CPU that spins answers the TLB
 * shootdowns of others (cpu_relax), so a holder may wait for one without deadlock. */
#ifndef KERNEL_ARCH_SPINLOCK_H
#define KERNEL_ARCH_SPINLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/arch/x86_64/cpu.h"

struct spinlock {
    volatile uint32_t held; /* [a] 0 free, else 1 + local number of the CPU that holds it */
};

static inline bool spin_try(struct spinlock *lock)
{
    return __atomic_load_n(&lock->held, __ATOMIC_RELAXED) == 0 &&
           __atomic_exchange_n(&lock->held, cpu_index() + 1, __ATOMIC_ACQUIRE) == 0;
}

static inline void spin_lock(struct spinlock *lock)
{
    while (!spin_try(lock))
        cpu_relax();
}

static inline void spin_unlock(struct spinlock *lock)
{
    __atomic_store_n(&lock->held, 0u, __ATOMIC_RELEASE);
}

static inline bool spin_held(const struct spinlock *lock)
{
    return __atomic_load_n(&lock->held, __ATOMIC_RELAXED) == cpu_index() + 1;
}

#endif
