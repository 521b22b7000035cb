/* Spinlocks between the CPUs of one instance. Never shared between instances.
 *
 * Kernel code runs with interrupts off, so a lock holder is not interrupted. A CPU that spins answers the TLB
 * shootdowns of others (cpu_relax), so a holder may wait for one without deadlock. Nobody starves: while a CPU waits,
 * others that want the lock wait, too, also the one that has just released it.
 *
 * In an instance with one CPU no other CPU can hold a lock, so taking a lock is a check and a plain store. The locked
 * instruction that other instances need is out of line. */
#ifndef KERNEL_ARCH_SPINLOCK_H
#define KERNEL_ARCH_SPINLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/arch/x86_64/cpu.h"

struct spinlock {
    union {
        volatile uint32_t word; /* [a] 0: free, and nobody waits for it */
        struct {
            volatile uint16_t held;    /* [a] 0 free, else 1 + local number of the CPU that holds it */
            volatile uint16_t waiting; /* [a] CPUs that wait */
        };
    };
};

bool spin_try_several(struct spinlock *lock);
void spin_lock_several(struct spinlock *lock);
/* Panics: the only CPU takes a lock that it already holds. */
_Noreturn void spin_lock_twice(const struct spinlock *lock);

/* As spin_try, in an instance with one CPU. */
static inline bool spin_try_alone(struct spinlock *lock)
{
    if (lock->held != 0)
        return false;
    lock->held = 1;
    return true;
}

/* Takes the lock if nobody holds it, also before those that wait. It may fail beside one that begins to wait. */
static inline bool spin_try(struct spinlock *lock)
{
    return cpu_several ? spin_try_several(lock) : spin_try_alone(lock);
}

static inline void spin_lock(struct spinlock *lock)
{
    if (cpu_several) {
        spin_lock_several(lock);
        return;
    }
    if (lock->held != 0)
        spin_lock_twice(lock);
    lock->held = 1;
}

/* The same without the check on the only CPU, where it does nothing: for a lock that is taken in few places, on the way
 * of every message. Tests on the host check each. */
static inline void spin_lock_briefly(struct spinlock *lock)
{
    if (cpu_several)
        spin_lock_several(lock);
}

static inline void spin_unlock(struct spinlock *lock)
{
    __atomic_store_n(&lock->held, (uint16_t)0, __ATOMIC_RELEASE);
}

static inline bool spin_held(const struct spinlock *lock)
{
    return __atomic_load_n(&lock->held, __ATOMIC_RELAXED) == cpu_index() + 1;
}

#endif
