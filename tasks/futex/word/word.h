/* Futex words: their names, which are the same on every kernel, and atomic changes. */
#ifndef TASKS_FUTEX_WORD_WORD_H
#define TASKS_FUTEX_WORD_WORD_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/errno.h"
#include "mm/space/space.h"
#include "tasks/thread/group.h"

#define FUTEX_OBJECTS (1ull << 63) /* a bit of a key's space: the word is in memory that spaces share */

/* The name of a futex word. */
struct futex_key {
    uint64_t space; /* id of the address space, or FUTEX_OBJECTS with the object, as mm/area/backing.h has it */
    uint64_t word;  /* its address in this space, or its place in the object in bytes */
};

static inline bool futex_same_key(const struct futex_key *a, const struct futex_key *b)
{
    return a->word == b->word && a->space == b->space;
}

/* A word and the kernel that has its queue. */
struct futex_place {
    struct futex_key key;
    uint32_t owner;
};

/* The wait for a word with an expected value. */
struct futex_expected {
    uint64_t address;
    uint64_t deadline; /* clock_now ns, or 0 */
    uint32_t value;
    uint32_t bitset; /* not 0 */
    bool shared;
};

/* Finds the place of the word at ADDRESS of the current program, if only its process uses it. -EINVAL: not aligned;
 * -EFAULT: not an address of a program. */
static inline int futex_find_private(uint64_t address, struct futex_place *place)
{
    const struct space *space = thread_current()->group->space;

    if ((address & (sizeof(uint32_t) - 1)) != 0)
        return -EINVAL;
    if (address > USER_END - sizeof(uint32_t))
        return -EFAULT;
    *place = (struct futex_place){.key = {.space = space->id, .word = address}, .owner = space->home};
    return 0;
}
/* The kernel that has the queue of KEY's word, of a thread of the current group; KERNELS_MAX: none. */
uint32_t futex_owner(const struct futex_key *key);
/* The same for any word; SHARED: without FUTEX_PRIVATE_FLAG. May wait for a page. */
int futex_find(uint64_t address, bool shared, struct futex_place *place);
/* The same for the word at ADDRESS, a multiple of four, of SPACE, which is kept as for space_access, if it is in shared
 * memory: 1. 0: it is not; -EFAULT. */
int futex_find_shared(struct space *space, uint64_t address, struct futex_place *place);
/* After something was queued at PLACE, which futex_find has found for ADDRESS: whether it is the word at ADDRESS still.
 * If so, the object exists, and its number will not be reused before the queue is left. -EAGAIN: another word is there
 * now; or an error of futex_find. May wait for a page. */
int futex_find_again(uint64_t address, const struct futex_place *place);
static inline int futex_check_place(uint64_t address, const struct futex_place *place)
{
    return (place->key.space & FUTEX_OBJECTS) != 0 ? futex_find_again(address, place) : 0;
}

/* Atomically replaces *EXPECTED at user ADDRESS by VALUE. 0; -EAGAIN: another value, now in *EXPECTED; -EFAULT. */
int futex_swap(uint64_t address, uint32_t *expected, uint32_t value);

#endif
