/* What looks at accesses, and moves and copies of a space, may cost: accounts of time. Pure functions, for tests on the
 * host. mm/numa.md describes the rule. All times in ns. */
#ifndef MM_SPACE_ACCOUNT_H
#define MM_SPACE_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

/* What an account pays for. */
struct seen_rule {
    uint32_t part;  /* of the time, which may be spent */
    uint32_t saved; /* times as long as counts take to become half: the time of which the part can be saved */
};

extern const struct seen_rule seen_moves; /* moves and copies of a space */
extern const struct seen_rule seen_looks; /* looks of a kernel */

/* An account of zeros is new. */
struct seen_account {
    uint64_t filled; /* until when time has been added, clock_now ns; 0: never */
    int64_t left;    /* below 0: what was spent, and is not saved yet; of more than can be saved, nothing is owed */
};

/* Adds the part of the time until NOW, by RULE, for each of KERNELS, 1 to 64. Of more than rule->saved times HALF
 * nothing is saved. A new account begins NOW, with nothing. */
void seen_account_fill(struct seen_account *account, const struct seen_rule *rule, uint64_t now, uint64_t half,
                       uint32_t kernels);

/* A look, a move, or copies have cost COST, below 2^62. */
void seen_account_pay(struct seen_account *account, uint64_t cost);

/* Whether something may move: that may cost more than there is, which is saved afterwards. */
bool seen_account_has(const struct seen_account *account);

/* How long it takes until the account of one kernel has something again, by RULE; 0: it has. */
uint64_t seen_account_wait(const struct seen_account *account, const struct seen_rule *rule);

#endif
