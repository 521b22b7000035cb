/* What each user has: limits, and nothing left behind.
 * sources: tasks/quota/quota.c */
#include "kernel/abi/errno.h"
#include "mm/frame/frame.h"
#include "tasks/quota/quota.h"
#include "tests/stand_in/heap.h"
#include "tests/stand_in/panic.h"
#include "tests/test.h"

void frame_stats(struct frame_stats *out)
{
    *out = (struct frame_stats){.total = 1 << 20};
}

TEST(quota_limits, "a user gets no more than the limit, and another one's things do not count")
{
    CHECK_EQ(quota_take(QUOTA_TASKS, 7, 3, 4, -EAGAIN), 0);
    CHECK_EQ(quota_take(QUOTA_TASKS, 7, 2, 4, -EAGAIN), -EAGAIN);
    CHECK_EQ(quota_take(QUOTA_TASKS, 7, 1, 4, -EAGAIN), 0);
    CHECK_EQ(quota_take(QUOTA_TASKS, 7 + 64, 4, 4, -EAGAIN), 0); /* in the same bucket */
    CHECK_EQ(quota_take(QUOTA_SIGNALS, 7, 4, 4, -EAGAIN), 0);
    CHECK_EQ(quota_take(QUOTA_SIGNALS, 7, UINT64_MAX, UINT64_MAX - 1, -EAGAIN), -EAGAIN);
    CHECK_EQ(quota_used(QUOTA_TASKS, 7), 4);
    quota_give(QUOTA_TASKS, 7, 4);
    quota_give(QUOTA_TASKS, 7 + 64, 4);
    CHECK_EQ(quota_used(QUOTA_SIGNALS, 7), 4);
    quota_give(QUOTA_SIGNALS, 7, 4);
    CHECK_EQ(heap_objects, 0);
}

TEST(quota_of_root, "root has no limit, and needs no memory; another user who has nothing yet does")
{
    heap_left = 0;
    CHECK_EQ(quota_take(QUOTA_TASKS, 0, 100, 4, -EAGAIN), 0);
    quota_give(QUOTA_TASKS, 0, 100);
    CHECK_EQ(quota_take(QUOTA_SIGNALS, 0, 4, 4, -EAGAIN), 0); /* root's signals count, as on Linux */
    CHECK_EQ(quota_take(QUOTA_SIGNALS, 0, 1, 4, -EAGAIN), -EAGAIN);
    CHECK_EQ(quota_used(QUOTA_SIGNALS, 0), 4);
    quota_give(QUOTA_SIGNALS, 0, 4);
    CHECK_EQ(quota_used(QUOTA_SIGNALS, 0), 0);
    CHECK_EQ(quota_take(QUOTA_TASKS, 5, 1, 4, -EAGAIN), -ENOMEM);
    heap_left = -1;
    CHECK_EQ(quota_take(QUOTA_TASKS, 5, 5, 4, -EAGAIN), -EAGAIN);
    CHECK_EQ(heap_objects, 0);
    CHECK_PANIC(quota_give(QUOTA_TASKS, 7, 1)); /* which keeps the lock */
}
