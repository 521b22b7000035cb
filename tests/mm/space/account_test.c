/* The account of the time that moves and copies may take.
 * sources: mm/space/account.c */
#include "mm/space/account.h"

#include "tests/test.h"

#define HALF 1000000000ull
#define MOST (ACCOUNT_SAVED * HALF / ACCOUNT_PART)

TEST(account_share, "whoever always moves when there is time for it spends a part of all time, and one move more")
{
    static const uint64_t costs[] = {1, 999, 1000000, 3 * HALF};

    for (uint32_t i = 0; i < sizeof(costs) / sizeof(costs[0]); i++) {
        struct seen_account account = {0};
        uint64_t begin = 5, now = begin, spent = 0, refused = 0;

        for (uint32_t step = 0; step < 100000; step++) {
            seen_account_fill(&account, now, HALF, 1);
            if (seen_account_has(&account)) {
                seen_account_pay(&account, costs[i]);
                spent += costs[i];
            } else {
                refused++;
            }
            CHECK(spent <= (now - begin) / ACCOUNT_PART + costs[i]);
            now += 1 + step % 7919;
        }
        CHECK(refused != 0);
        CHECK(spent + costs[i] >= (now - begin) / ACCOUNT_PART || costs[i] < 7919 / ACCOUNT_PART);
    }
}

TEST(account_begins_empty, "a new account has nothing saved: the second move waits until the first has been paid")
{
    struct seen_account account = {0};

    seen_account_fill(&account, 10 * HALF, HALF, 1);
    CHECK(seen_account_has(&account));
    seen_account_pay(&account, 1000);
    CHECK(!seen_account_has(&account));
    seen_account_fill(&account, 10 * HALF + 1000 * ACCOUNT_PART - 1, HALF, 1);
    CHECK(!seen_account_has(&account));
    seen_account_fill(&account, 10 * HALF + 1000 * ACCOUNT_PART, HALF, 1);
    CHECK(seen_account_has(&account));
}

TEST(account_saves, "what can be saved is bounded, short steps lose nothing, and a clock that stands adds nothing")
{
    struct seen_account account = {0}, steps = {0};

    seen_account_fill(&account, 1, HALF, 1);
    seen_account_fill(&account, 1 + 1000 * ACCOUNT_SAVED * HALF, HALF, 1);
    CHECK_EQ(account.left, (int64_t)MOST);
    seen_account_fill(&account, 1, HALF, 1);
    CHECK_EQ(account.left, (int64_t)MOST);
    for (uint64_t now = 1; now <= 1 + 1000 * ACCOUNT_PART; now++)
        seen_account_fill(&steps, now, HALF, 1);
    CHECK_EQ(steps.left, 1000);
}

TEST(account_kernels, "each kernel that hosts the space adds a part of its time, and may save as much")
{
    struct seen_account account = {0};

    seen_account_fill(&account, 1, HALF, 8);
    seen_account_fill(&account, 1 + 1000 * ACCOUNT_PART, HALF, 8);
    CHECK_EQ(account.left, 8000);
    seen_account_fill(&account, 1 + 1000 * ACCOUNT_SAVED * HALF, HALF, 8);
    CHECK_EQ(account.left, 8 * (int64_t)MOST);
}

TEST(account_owes, "no more is owed than can be saved: what has taken long holds nothing back for longer")
{
    struct seen_account account = {0};

    seen_account_fill(&account, 1, HALF, 1);
    seen_account_pay(&account, 1000 * MOST);
    seen_account_fill(&account, 1, HALF, 1);
    CHECK_EQ(account.left, -(int64_t)MOST);
    seen_account_fill(&account, 1 + ACCOUNT_SAVED * HALF, HALF, 1);
    CHECK(seen_account_has(&account));
}
