/* The accounts of the time that looks, moves and copies may take.
 * sources: mm/space/account.c */
#include "mm/space/account.h"

#include "tests/test.h"

#define HALF 1000000000ull
#define PART 16u
#define SAVED 64u
#define MOST (SAVED * HALF / PART)

static const struct seen_rule rule = {.part = PART, .saved = SAVED};

TEST(account_share, "whoever always moves when there is time for it spends a part of all time, and one move more")
{
    static const uint64_t costs[] = {1, 999, 1000000, 3 * HALF};

    for (uint32_t i = 0; i < sizeof(costs) / sizeof(costs[0]); i++) {
        struct seen_account account = {0};
        uint64_t begin = 5, now = begin, spent = 0, refused = 0;

        for (uint32_t step = 0; step < 100000; step++) {
            seen_account_fill(&account, &rule, now, HALF, 1);
            if (seen_account_has(&account)) {
                seen_account_pay(&account, costs[i]);
                spent += costs[i];
            } else {
                refused++;
            }
            CHECK(spent <= (now - begin) / PART + costs[i]);
            now += 1 + step % 7919;
        }
        CHECK(refused != 0);
        CHECK(spent + costs[i] >= (now - begin) / PART || costs[i] < 7919 / PART);
    }
}

TEST(account_begins_empty, "a new account has nothing saved: the second move waits until the first has been paid")
{
    struct seen_account account = {0};

    seen_account_fill(&account, &rule, 10 * HALF, HALF, 1);
    CHECK(seen_account_has(&account));
    seen_account_pay(&account, 1000);
    CHECK(!seen_account_has(&account));
    seen_account_fill(&account, &rule, 10 * HALF + 1000 * PART - 1, HALF, 1);
    CHECK(!seen_account_has(&account));
    seen_account_fill(&account, &rule, 10 * HALF + 1000 * PART, HALF, 1);
    CHECK(seen_account_has(&account));
}

TEST(account_saves, "what can be saved is bounded, short steps lose nothing, and a clock that stands adds nothing")
{
    struct seen_account account = {0}, steps = {0};

    seen_account_fill(&account, &rule, 1, HALF, 1);
    seen_account_fill(&account, &rule, 1 + 1000 * SAVED * HALF, HALF, 1);
    CHECK_EQ(account.left, (int64_t)MOST);
    seen_account_fill(&account, &rule, 1, HALF, 1);
    CHECK_EQ(account.left, (int64_t)MOST);
    for (uint64_t now = 1; now <= 1 + 1000 * PART; now++)
        seen_account_fill(&steps, &rule, now, HALF, 1);
    CHECK_EQ(steps.left, 1000);
}

TEST(account_kernels, "each kernel that hosts the space adds a part of its time, and may save as much")
{
    struct seen_account account = {0};

    seen_account_fill(&account, &rule, 1, HALF, 8);
    seen_account_fill(&account, &rule, 1 + 1000 * PART, HALF, 8);
    CHECK_EQ(account.left, 8000);
    seen_account_fill(&account, &rule, 1 + 1000 * SAVED * HALF, HALF, 8);
    CHECK_EQ(account.left, 8 * (int64_t)MOST);
}

TEST(account_owes, "no more is owed than can be saved: what has taken long holds nothing back for longer")
{
    struct seen_account account = {0};

    seen_account_fill(&account, &rule, 1, HALF, 1);
    seen_account_pay(&account, 1000 * MOST);
    seen_account_fill(&account, &rule, 1, HALF, 1);
    CHECK_EQ(account.left, -(int64_t)MOST);
    seen_account_fill(&account, &rule, 1 + SAVED * HALF, HALF, 1);
    CHECK(seen_account_has(&account));
}

TEST(account_waits,
     "a kernel that looks as soon as its last look has been paid spends a part of its time, by each rule")
{
    static const struct seen_rule *const rules[] = {&rule, &seen_moves, &seen_looks};
    static const uint64_t costs[] = {1, 1000, HALF / 100};

    for (uint32_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        for (uint32_t k = 0; k < sizeof(costs) / sizeof(costs[0]); k++) {
            struct seen_account account = {0};
            uint64_t begin = 5, now = begin, spent = 0;

            seen_account_fill(&account, rules[i], now, HALF, 1);
            CHECK_EQ(seen_account_wait(&account, rules[i]), 0);
            for (uint32_t look = 0; look < 1000; look++) {
                now += costs[k]; /* the look itself */
                spent += costs[k];
                seen_account_pay(&account, costs[k]);
                seen_account_fill(&account, rules[i], now, HALF, 1);
                now += seen_account_wait(&account, rules[i]);
                CHECK(rules[i]->part * spent <= now - begin + rules[i]->part);
            }
            CHECK(now - begin <= (rules[i]->part + 1) * (spent + 1000)); /* and hardly less */
        }
    }
}

TEST(account_long_look, "a look that took longer than can be saved holds the next one back for no longer than that")
{
    struct seen_account account = {0};

    seen_account_pay(&account, 1000 * HALF);
    seen_account_fill(&account, &seen_looks, 1, HALF, 1);
    CHECK_EQ(seen_account_wait(&account, &seen_looks), seen_looks.saved * HALF);
}

TEST(account_looks_after_calm, "who has not looked for long may look at once for what was saved, and not for longer")
{
    struct seen_account account = {0};
    uint64_t now = 1, spent = 0;

    seen_account_fill(&account, &seen_looks, now, HALF, 1);
    now += 1000 * HALF;
    seen_account_fill(&account, &seen_looks, now, HALF, 1);
    while (seen_account_wait(&account, &seen_looks) == 0) {
        seen_account_pay(&account, HALF / 100);
        spent += HALF / 100;
    }
    CHECK(spent >= seen_looks.saved * HALF / seen_looks.part);
    CHECK(spent <= seen_looks.saved * HALF / seen_looks.part + HALF / 100);
}
