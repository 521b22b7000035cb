/* What moves and copies of a space may cost: an account of time. Pure functions, for tests on the host. mm/numa.md
 * describes the rule. All times in ns. */
#ifndef MM_SPACE_ACCOUNT_H
#define MM_SPACE_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#define ACCOUNT_PART 16u  /* part of the time of all kernels that host the space which moves and copies may take */
#define ACCOUNT_SAVED 64u /* times as long as counts take to become half: the time of which the part can be saved */

/* All fields: space->lock. An account of zeros is new. */
struct seen_account {
    uint64_t filled; /* until when time has been added, clock_now ns; 0: never */
    int64_t left;    /* below 0: what was spent, and is not saved yet; of more than can be saved, nothing is owed */
};

/* Adds the part of the time until NOW for each of KERNELS, 1 to 64. Of more than ACCOUNT_SAVED times HALF nothing is
 * saved. A new account begins NOW, with nothing. */
void seen_account_fill(struct seen_account *account, uint64_t now, uint64_t half, uint32_t kernels);

/* A move, or copies, have cost COST, below 2^62. */
void seen_account_pay(struct seen_account *account, uint64_t cost);

/* Whether something may move: that may cost more than there is, which is saved afterwards. */
bool seen_account_has(const struct seen_account *account);

#endif
