/* Numbers in use. See the header. */
#include "tasks/thread/number.h"

#include <stdbool.h>

#include "kernel/arch/x86_64/spinlock.h"
#include "tasks/role/role.h"
#include "tasks/thread/group.h"
#include "tasks/thread/thread.h"

#define NUMBERS (1u << TID_KERNEL_SHIFT) /* of which 0 is no id */
#define WORD 64u
#define WORDS (NUMBERS / WORD)

static struct spinlock lock;
static uint64_t used[NUMBER_USES][WORDS]; /* [k] lock: a bit for each number */
static uint32_t next = 1;                 /* [k] lock */

static void set(uint32_t id, enum number_use use, bool value)
{
    uint32_t number = id % NUMBERS;
    uint64_t bit = 1ull << number % WORD;

    if (id >> TID_KERNEL_SHIFT != role_own())
        return;
    spin_lock(&lock);
    if (value)
        used[use][number / WORD] |= bit;
    else
        used[use][number / WORD] &= ~bit;
    spin_unlock(&lock);
}

void number_use(uint32_t id, enum number_use use)
{
    set(id, use, true);
}

void number_leave(uint32_t id, enum number_use use)
{
    set(id, use, false);
}

/* The lowest number from FROM on that is free, in [FROM, NUMBERS); or 0. */
static uint32_t find_locked(uint32_t from)
{
    uint64_t below = (1ull << from % WORD) - 1; /* numbers of the first word that come before FROM */

    for (uint32_t i = from / WORD; i < WORDS; i++, below = 0) {
        uint64_t taken = used[NUMBER_THREAD][i] | used[NUMBER_GROUP][i] | below | (i == 0 ? 1 : 0);

        if (i == PROCESS_INIT / WORD && role_own() == 0)
            taken |= 1ull << PROCESS_INIT % WORD;
        if (taken != UINT64_MAX)
            return i * WORD + (uint32_t)__builtin_ctzll(~taken);
    }
    return 0;
}

uint32_t number_next(void)
{
    uint32_t number;

    spin_lock(&lock);
    number = find_locked(next);
    if (number == 0)
        number = find_locked(0);
    if (number != 0)
        next = (number + 1) % NUMBERS;
    spin_unlock(&lock);
    return number != 0 ? role_own() << TID_KERNEL_SHIFT | number : 0;
}
