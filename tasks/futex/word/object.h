/* Which objects of this kernel (mm/area/backing.h) have words with waiters. The number of such an object must not be
 * given to another one: a wake there would reach these waiters instead. Whoever makes objects asks before it reuses a
 * number. All functions may be called in any context. */
#ifndef TASKS_FUTEX_WORD_OBJECT_H
#define TASKS_FUTEX_WORD_OBJECT_H

#include "mm/area/backing.h"
#include "tasks/futex/word/word.h"

#define FUTEX_OBJECT_COUNTERS 4096u

/* [a] Entries in the queues of words of the objects whose number modulo the size is the index. */
extern uint32_t futex_object_counters[FUTEX_OBJECT_COUNTERS];

/* What is left of an object's name without its low bits, which are the page and flags. The hash of keys
 * (tasks/futex/internal.h) uses the low bits of the rest. */
#define FUTEX_NAME_SHIFT BACKING_KERNEL_SHIFT

/* Notes that an entry of KEY (a waiter, or a lock) enters a queue, with CHANGE 1, or leaves it, with -1. The words of
 * one process, which have no object, cost a test. Its locked instruction orders it before what the thread, or the
 * answer to it, does next. */
static inline void futex_object_count(const struct futex_key *key, int change)
{
    uint64_t backing = key->space << FUTEX_NAME_SHIFT;

    if (__builtin_expect((key->space & FUTEX_OBJECTS) != 0, 0) && backing_is_file(backing))
        __atomic_fetch_add(&futex_object_counters[backing_object(backing) % FUTEX_OBJECT_COUNTERS], (uint32_t)change,
                           __ATOMIC_SEQ_CST);
}

/* True while an entry of a word of OBJECT is in a queue here, and sometimes because of another object. */
static inline bool futex_object_waited_for(uint32_t object)
{
    return __atomic_load_n(&futex_object_counters[object % FUTEX_OBJECT_COUNTERS], __ATOMIC_SEQ_CST) != 0;
}

#endif
