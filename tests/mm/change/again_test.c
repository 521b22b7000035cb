/* How long a change that is half made waits for memory. Waits take no time.
 * sources: mm/change/again.c */
#include "mm/change/again.h"

#include "kernel/wait/completion.h"
#include "msg/channel.h"
#include "tests/test.h"

#define CLEANING 20000u /* ms: kernel/machine/death.c ends the machine then */

struct wait_ops wait_ops;

static kernel_set fenced;
static bool killed, borrowed;
static uint32_t waited;

kernel_set msg_peers_fenced(void)
{
    return fenced;
}

uint64_t clock_now(void)
{
    return 5000;
}

bool completion_wait_until(struct completion *c, const struct wait_reason *reason, enum wait_end end, uint64_t deadline)
{
    (void)c;
    CHECK(reason->what != NULL);
    CHECK_EQ(end, WAIT_FIRM);
    CHECK_EQ(deadline, 1005000);
    waited++;
    return false;
}

static bool ended(enum wait_end end)
{
    CHECK_EQ(end, WAIT_KILLABLE);
    return killed;
}

static bool outlives(void)
{
    return borrowed;
}

static uint32_t count_tries(uint32_t *tries)
{
    wait_ops.ended = ended;
    waited = 0;
    while (space_try_again(tries))
        ;
    return waited;
}

TEST(again, "memory is waited for ten seconds in all rounds of a change together")
{
    uint32_t tries = 0;

    CHECK_EQ(count_tries(&tries), 10000);
    CHECK_EQ(count_tries(&tries), 0);
}

TEST(again_death,
     "five changes in a row, tried by ten threads one after the other, end before the cleaning after a death does")
{
    uint32_t tries = 0, sum = 0;

    fenced = 2;
    for (int i = 0; i < 50; i++) {
        tries = 0;
        sum += count_tries(&tries);
    }
    CHECK(sum > 0 && sum < CLEANING);
    fenced = 0;
    tries = 0;
    for (int i = 0; i < 5000; i++)
        CHECK(space_try_again(&tries));
    fenced = 2;
    CHECK(!space_try_again(&tries)); /* the death comes in the middle */
    fenced = 0;
}

TEST(again_killed, "a killed process gives its own space up at once, and completes a change of its parent's")
{
    uint32_t tries = 0;

    killed = true;
    CHECK_EQ(count_tries(&tries), 0);
    space_outlives_task = outlives;
    tries = 0;
    CHECK_EQ(count_tries(&tries), 0);
    borrowed = true;
    tries = 0;
    CHECK_EQ(count_tries(&tries), 10000);
    killed = borrowed = false;
    space_outlives_task = NULL;
}
