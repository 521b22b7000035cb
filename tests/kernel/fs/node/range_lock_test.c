/* Locks on ranges, against an array that says for each byte who has what.
 * sources: kernel/fs/node/range_lock.c */
#include "kernel/fs/node/range_lock.h"

#include "kernel/abi/errno.h"
#include "tests/stand_in/heap.h"
#include "tests/test.h"

#include "tests/stand_in/quota.h"

#define BYTES 40u
#define OWNERS 4u

static struct list locks;
static uint8_t model[2][OWNERS][BYTES]; /* of kinds PROCESS and WHOLE; 0: nothing, else 1 + type */

static bool always(const struct range_lock *lock, const void *context)
{
    (void)lock;
    (void)context;
    return true;
}

static void begin(void)
{
    list_init(&locks);
    heap_left = -1;
    heap_objects = 0;
    memset(model, 0, sizeof(model));
}

static struct range_lock wanted(uint32_t kind, uint64_t owner, uint32_t type, uint64_t start, uint64_t last)
{
    return (struct range_lock){.kind = kind, .owner = owner, .type = type, .start = start, .last = last};
}

static bool model_conflict(const struct range_lock *lock)
{
    for (uint32_t owner = 0; owner < OWNERS; owner++) {
        for (uint64_t i = lock->start; i <= lock->last; i++) {
            uint8_t has = model[lock->kind == LOCK_WHOLE][owner][i];

            if (owner != lock->owner && has != 0 && (has == 1 + LOCK_WRITE || lock->type == LOCK_WRITE))
                return true;
        }
    }
    return false;
}

/* The list says of each byte what the model says, and of each owner and byte once. */
static void check_same(void)
{
    static uint8_t said[2][OWNERS][BYTES];

    memset(said, 0, sizeof(said));
    list_for_each(node, &locks) {
        const struct range_lock *lock = container_of(node, const struct range_lock, node);

        CHECK(lock->start <= lock->last && lock->last < BYTES && lock->type != LOCK_NONE);
        for (uint64_t i = lock->start; i <= lock->last; i++) {
            CHECK_EQ(said[lock->kind == LOCK_WHOLE][lock->owner][i], 0);
            said[lock->kind == LOCK_WHOLE][lock->owner][i] = (uint8_t)(1 + lock->type);
        }
    }
    CHECK(memcmp(said, model, sizeof(said)) == 0);
}

TEST(lock_random, "after any locks each byte is locked by whom the last ones said, and conflicts are found")
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        uint64_t random = seed;

        begin();
        for (uint32_t i = 0; i < 200; i++) {
            uint64_t start = test_below(&random, BYTES), last = start + test_below(&random, BYTES - start);
            struct range_lock lock = wanted(test_below(&random, 2) == 0 ? LOCK_PROCESS : LOCK_WHOLE,
                                            test_below(&random, OWNERS), (uint32_t)test_below(&random, 3), start, last);
            bool conflict = lock.type != LOCK_NONE && range_lock_conflict(&locks, &lock) != NULL, less;

            CHECK_EQ(conflict, lock.type != LOCK_NONE && model_conflict(&lock));
            if (conflict)
                continue;
            heap_left = test_below(&random, 8) == 0 ? 0 : -1;
            if (range_lock_set(&locks, &lock, &less) == 0)
                memset(&model[lock.kind == LOCK_WHOLE][lock.owner][start],
                       lock.type == LOCK_NONE ? 0 : 1 + (int)lock.type, last - start + 1);
            else
                CHECK(heap_left == 0);
            heap_left = -1;
            check_same();
        }
        range_lock_drop(&locks, always, NULL);
        CHECK_EQ(heap_objects, 0);
    }
}

TEST(lock_less, "that others may get a lock is said when a lock is given back or becomes one for reading, else not")
{
    struct range_lock write = wanted(LOCK_PROCESS, 1, LOCK_WRITE, 0, LOCK_LAST),
                      read = wanted(LOCK_PROCESS, 1, LOCK_READ, 5, 9),
                      none = wanted(LOCK_PROCESS, 1, LOCK_NONE, 20, 29);
    bool less;

    begin();
    CHECK_EQ(range_lock_set(&locks, &write, &less), 0);
    CHECK(!less);
    CHECK_EQ(range_lock_set(&locks, &read, &less), 0);
    CHECK(less);
    CHECK_EQ(range_lock_set(&locks, &none, &less), 0);
    CHECK(less);
    CHECK_EQ(range_lock_set(&locks, &none, &less), 0);
    CHECK(!less);
    CHECK(range_lock_drop(&locks, always, NULL));
    CHECK(!range_lock_drop(&locks, always, NULL));
    CHECK_EQ(heap_objects, 0);
}

TEST(range_lock_quota, "a user has no more locks than allowed, may give up all, and gets back what was given up")
{
    struct range_lock lock = {.kind = LOCK_PROCESS, .type = LOCK_WRITE, .owner = 1, .uid = 1000};
    bool less;

    list_init(&locks);
    quota_most = 3;
    quota_is_kept = true;
    for (uint64_t i = 0; i < 4; i++) {
        lock.start = lock.last = 2 * i;
        CHECK_EQ(range_lock_set(&locks, &lock, &less), i < 3 ? 0 : -ENOLCK);
    }
    lock.start = lock.last = 2; /* at the limit: another type */
    lock.type = LOCK_READ;
    CHECK_EQ(range_lock_set(&locks, &lock, &less), 0);
    CHECK_EQ(quota_counts[QUOTA_LOCKS], 3);
    lock.last = 3; /* a longer range; and a part of it would be one more */
    CHECK_EQ(range_lock_set(&locks, &lock, &less), 0);
    lock.start = 0;
    lock.last = 0;
    lock.type = LOCK_READ;
    CHECK_EQ(range_lock_set(&locks, &lock, &less), 0);
    lock.start = lock.last = 2;
    lock.type = LOCK_WRITE;
    CHECK_EQ(range_lock_set(&locks, &lock, &less), -ENOLCK);
    CHECK_EQ(quota_counts[QUOTA_LOCKS], 3);
    lock.start = 1; /* at the limit, too */
    lock.last = 3;
    lock.type = LOCK_NONE;
    CHECK_EQ(range_lock_set(&locks, &lock, &less), 0);
    CHECK_EQ(quota_counts[QUOTA_LOCKS], 2);
    lock.start = 0;
    lock.last = LOCK_LAST;
    CHECK_EQ(range_lock_set(&locks, &lock, &less), 0);
    CHECK_EQ(quota_counts[QUOTA_LOCKS], 0);
    CHECK(list_empty(&locks));
    quota_most = UINT64_MAX;
}
