/* Spinlocks of an instance with several CPUs. See the header. */
#include "kernel/arch/x86_64/spinlock.h"

#include "kernel/lib/panic.h"

#define WAITER 0x10000u /* one in the upper half of the word */

/* The word of a lock that this CPU takes, and of which WORD says that nobody holds it. */
static inline uint32_t taken(uint32_t word)
{
    return word + cpu_index() + 1;
}

bool spin_try_several(struct spinlock *lock)
{
    uint32_t word = __atomic_load_n(&lock->word, __ATOMIC_RELAXED);

    return (word & (WAITER - 1)) == 0 &&
           __atomic_compare_exchange_n(&lock->word, &word, taken(word), false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* A CPU that waits says so, and those that come later wait, too: each pauses before it tries, so a CPU that releases
 * the lock and takes it again lets another one have it in between. There is no order among those that wait, because
 * the host may leave alone for milliseconds the CPU whose turn it would be. */
static __attribute__((noinline)) void wait_for(struct spinlock *lock)
{
    uint32_t word = __atomic_add_fetch(&lock->word, WAITER, __ATOMIC_RELAXED);

    for (;;) {
        cpu_relax();
        word = __atomic_load_n(&lock->word, __ATOMIC_RELAXED);
        if ((word & (WAITER - 1)) == 0 && __atomic_compare_exchange_n(&lock->word, &word, taken(word - WAITER), false,
                                                                      __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return;
    }
}

void spin_lock_several(struct spinlock *lock)
{
    uint32_t free = 0;

    if (__builtin_expect(__atomic_load_n(&lock->word, __ATOMIC_RELAXED) != 0, 0) ||
        __builtin_expect(
            !__atomic_compare_exchange_n(&lock->word, &free, taken(0), false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED), 0))
        wait_for(lock);
}

_Noreturn void spin_lock_twice(const struct spinlock *lock)
{
    panic("lock: the spinlock at %p is taken by the CPU that holds it", (const void *)lock);
}
