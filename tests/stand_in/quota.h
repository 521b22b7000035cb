/* Quotas for host tests of code that takes from them: counts of one user, which must come back. Included once, after
 * tests/test.h. */
#ifndef TESTS_STAND_IN_QUOTA_H
#define TESTS_STAND_IN_QUOTA_H

#include <stdbool.h>

#include "tasks/quota/quota.h"

static uint64_t quota_counts[QUOTAS];
static uint64_t quota_most = UINT64_MAX; /* in place of every limit that is higher */
static bool quota_is_kept;               /* but not of UINT64_MAX, which is none */
static uint32_t quota_unlimited;         /* bits: of these there is no limit at all */

int quota_take(enum quota which, uint32_t uid, uint64_t count, uint64_t limit, int over)
{
    (void)uid;
    if (limit > quota_most && (quota_unlimited & 1u << which) == 0 && !(quota_is_kept && limit == UINT64_MAX))
        limit = quota_most;
    if (count > limit || quota_counts[which] > limit - count)
        return over;
    quota_counts[which] += count;
    return 0;
}

void quota_give(enum quota which, uint32_t uid, uint64_t count)
{
    (void)uid;
    CHECK(quota_counts[which] >= count);
    quota_counts[which] -= count;
}

uint64_t quota_limit(enum quota which)
{
    (void)which;
    return UINT64_MAX - 1;
}

#endif
