/* Recalls at the home, with holders that answer when the test says so: which leases are asked for at once, and what
 * becomes of waits when there is no memory.
 * sources: mm/lease/recall.c mm/lease/map.c kernel/lib/ordered.c */
#include <stdlib.h>

#include "kernel/abi/errno.h"
#include "kernel/wait/completion.h"
#include "mm/frame/frame.h"
#include "mm/frame/reference.h"
#include "mm/lease/internal.h"
#include "mm/lease/lease.h"
#include "mm/lease/wire.h"
#include "mm/space/entry.h"
#include "mm/space/question.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "msg/request/long_answer.h"
#include "tests/stand_in/heap.h"
#include "tests/test.h"

#define LEASE (1ull << 21) /* bytes */
#define WAITS 8u
#define ASKED_MAX 128u

struct instance instance; /* kernel 0: the home */

static struct space space;

struct asked {
    uint32_t kernel;
    const struct msg_space_recall *ask;
    msg_answer answer;
    void *context;
};

static struct asked asked[ASKED_MAX]; /* requests that are not answered yet, in the order in which they were sent */
static size_t asked_count;
static uint64_t requests; /* so far */

struct waiting {
    bool waits, done;
    int error;
};

static struct waiting waiting[WAITS];

void msg_ask(struct msg_asking *asking, uint32_t kernel, enum msg_type type, const void *data, uint32_t length,
             msg_answer answer, void *context)
{
    (void)asking;
    CHECK_EQ(type, MSG_SPACE_RECALL);
    CHECK_EQ(length, sizeof(struct msg_space_recall));
    CHECK(asked_count < ASKED_MAX);
    asked[asked_count++] = (struct asked){kernel, data, answer, context};
    requests++;
}

const struct lease *lease_others_locked(const struct space *of, uint64_t start, uint64_t end)
{
    const struct lease *lease = lease_map_next(&of->leases.map, start);

    return lease != NULL && lease->start < end ? lease : NULL;
}

int lease_recalled_locked(struct space *of, uint64_t start, uint64_t end)
{
    return lease_map_remove(&of->leases.map, start, end);
}

void lease_share_locked(struct space *of, uint64_t start, uint64_t end)
{
    (void)of;
    (void)start;
    (void)end;
}

void lease_note_recall_locked(struct space *of, struct space_range range)
{
    (void)of;
    (void)range;
}

void space_hold(struct space *of)
{
    of->references++;
}

void space_put(struct space *of)
{
    of->references--;
}

/* What a home does not need for recalls of leases without areas, or only a holder needs. */
#define NEVER(type, name, ...)                                                                                         \
    type name(__VA_ARGS__)                                                                                             \
    {                                                                                                                  \
        abort();                                                                                                       \
    }
#pragma GCC diagnostic ignored "-Wunused-parameter"
NEVER(struct area *, area_next, const struct area_list *list, uint64_t address)
NEVER(int, area_set_backed, struct area_list *list, uint64_t start, uint64_t end, uint32_t prot, uint64_t backing)
NEVER(void, completion_signal, struct completion *completion)
NEVER(void, completion_wait, struct completion *completion, const struct wait_reason *reason)
NEVER(void, frame_lend, void)
NEVER(uint32_t, frame_owner, uint64_t frame)
NEVER(int32_t, lease_holder_locked, const struct space *of, struct space_range range)
NEVER(uint64_t, lease_remove_locked, struct space *of, uint64_t start, uint64_t end)
NEVER(struct space_range, lease_widen_locked, const struct space *of, const struct lease *lease, uint64_t start,
      uint64_t end)
NEVER(void *, long_answer_create, uint32_t size)
NEVER(void, long_answer_give, struct long_answer *answer, const void *reply, int length)
NEVER(void, long_answer_keep, const struct msg *m, struct long_answer *answer)
NEVER(void, msg_register, enum msg_type type, msg_handler handler, uint32_t length, uint32_t reply)
NEVER(void, msg_reply_error, const struct msg_ticket *ticket, int error)
NEVER(const uint64_t *, paging_next_leaf_look, const struct page_tables *tables, uint64_t *va, uint64_t end)
NEVER(void, sharers_mark, struct sharers *sharers, uint64_t start, uint64_t end, kernel_set kernels)
NEVER(int, space_borrow_page_locked, struct space *of, uint64_t page, uint64_t frame, bool cow, uint64_t flags)
NEVER(bool, space_defer_locked, struct space *of, struct space_deferred *deferred)
NEVER(struct space *, space_get, uint64_t id)

static void begin_test(void)
{
    space = (struct space){.id = 7, .references = 1};
    lease_map_init(&space.leases.map);
    list_init(&space.leases.waits);
    list_init(&space.leases.under_way);
    for (uint32_t i = 0; i < WAITS; i++)
        waiting[i] = (struct waiting){.waits = false};
    asked_count = requests = 0;
    heap_left = -1;
}

static void end_test(void)
{
    CHECK_EQ(asked_count, 0);
    CHECK(list_empty(&space.leases.waits) && list_empty(&space.leases.under_way));
    CHECK_EQ(space.references, 1);
    CHECK(lease_map_clear_some(&space.leases.map, UINT32_MAX));
    CHECK_EQ(heap_objects, 0);
}

/* Leases [FIRST, STOP), counted in leases, to KERNEL, one after the other with a gap between them. */
static void lease(uint64_t first, uint64_t stop, uint32_t kernel)
{
    for (uint64_t i = first; i < stop; i++)
        CHECK_EQ(lease_map_set(&space.leases.map, i * LEASE, i * LEASE + LEASE / 2, kernel), 0);
}

static void done(void *context, int error)
{
    struct waiting *of = context;

    CHECK(of->waits && !of->done);
    of->waits = false;
    of->done = true;
    of->error = error;
}

static void begin_wait(uint32_t which, uint64_t first, uint64_t stop)
{
    struct lease_recall *start;

    waiting[which] = (struct waiting){.waits = true};
    if (heap_left == 0)
        heap_left = 1; /* for the wait itself */
    if (lease_wait_locked(&space, (struct space_range){first * LEASE, stop * LEASE}, done, &waiting[which], &start) ==
        0)
        waiting[which] = (struct waiting){.done = true};
    lease_recall(start);
}

/* The holder of request I answers: with ERROR, or that it gives up what is wanted. */
static void answer(size_t i, int error)
{
    struct asked of = asked[i];
    struct msg_space_recalled given = {.start = of.ask->start, .end = of.ask->end};

    asked_count--;
    for (; i < asked_count; i++)
        asked[i] = asked[i + 1];
    of.answer(of.context, of.kernel, error == 0 ? &given : NULL, error == 0 ? (int)sizeof(given) : error);
}

/* The first request that KERNEL has not answered. */
static size_t asked_of(uint32_t kernel)
{
    size_t i = 0;

    while (i < asked_count && asked[i].kernel != kernel)
        i++;
    CHECK(i < asked_count);
    return i;
}

static uint64_t lease_of(size_t i)
{
    return asked[i].ask->start / LEASE;
}

TEST(recall_at_once, "one lease of each holder is recalled at once, and the next of a holder when that is over")
{
    begin_test();
    lease(0, 2, 1);
    lease(2, 4, 2);
    begin_wait(0, 0, 4);
    CHECK_EQ(asked_count, 2);
    answer(asked_of(2), 0);
    CHECK_EQ(asked_count, 2);
    CHECK_EQ(lease_of(asked_of(2)), 3);
    answer(asked_of(2), 0);
    CHECK_EQ(asked_count, 1);
    answer(asked_of(1), 0);
    CHECK_EQ(asked_count, 1);
    CHECK(waiting[0].waits);
    answer(asked_of(1), 0);
    CHECK(waiting[0].done && waiting[0].error == 0);
    end_test();
}

TEST(recall_bounded, "a wait with a recall under way looks at a bounded number of leases when another one is over")
{
    uint64_t ends = 0;

    begin_test();
    lease(0, 1000, 1);
    lease(1000, 1001, 2);
    lease(1001, 1100, 1);
    begin_wait(0, 0, 1100);
    CHECK_EQ(asked_count, 1);
    for (; asked_count == 1; ends++)
        answer(0, 0);
    CHECK(ends >= 10 && ends <= 20); /* it is found, a step after the other */
    CHECK_EQ(asked_count, 2);
    CHECK_EQ(asked[1].kernel + asked[0].kernel, 3);
    while (asked_count > 0)
        answer(0, 0);
    CHECK(waiting[0].done && waiting[0].error == 0);
    CHECK_EQ(requests, 1100);
    end_test();
}

TEST(recall_passes_claimed, "a wait begins a recall however many leases before it are being recalled by others")
{
    begin_test();
    for (uint32_t i = 0; i < 80; i++)
        lease(i, i + 1, i % 40 + 1);
    lease(900, 901, 1);
    begin_wait(0, 0, 40);
    begin_wait(1, 40, 80);
    CHECK_EQ(asked_count, 80);
    begin_wait(2, 0, 901);
    CHECK_EQ(asked_count, 81);
    CHECK_EQ(lease_of(80), 900);
    while (asked_count > 1)
        answer(0, 0);
    CHECK(waiting[0].done && waiting[1].done && waiting[2].waits);
    answer(0, 0);
    CHECK(waiting[2].done);
    end_test();
}

TEST(recall_foreign_failure, "a recall without memory fails the waits without one of their own, and no others")
{
    begin_test();
    lease(0, 1, 1);
    lease(1, 2, 2);
    begin_wait(0, 0, 1);
    begin_wait(1, 0, 2);
    begin_wait(2, 0, 1);
    CHECK_EQ(asked_count, 2);
    answer(0, -ENOMEM);
    CHECK(waiting[0].done && waiting[0].error == -ENOMEM);
    CHECK(waiting[2].done && waiting[2].error == -ENOMEM);
    CHECK(waiting[1].waits);
    CHECK_EQ(asked_count, 1);
    answer(0, 0);
    CHECK_EQ(asked_count, 1);
    CHECK_EQ(lease_of(0), 0);
    answer(0, 0);
    CHECK(waiting[1].done && waiting[1].error == 0);
    end_test();
}

TEST(recall_own_failure, "a wait fails with a recall of its own when its others are over, and begins no more")
{
    begin_test();
    lease(0, 1, 1);
    lease(1, 3, 2);
    begin_wait(0, 0, 3);
    CHECK_EQ(asked_count, 2);
    answer(asked_of(1), -ENOMEM);
    CHECK(waiting[0].waits);
    answer(0, 0);
    CHECK(waiting[0].done && waiting[0].error == -ENOMEM);
    end_test();
}

TEST(recall_own_memory, "without memory the leases of a wait are recalled one after the other")
{
    begin_test();
    lease(0, 1, 1);
    lease(1, 2, 2);
    lease(2, 3, 3);
    heap_left = 0;
    begin_wait(0, 0, 3);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_EQ(asked_count, 1);
        CHECK(waiting[0].waits);
        answer(0, 0);
    }
    CHECK(waiting[0].done && waiting[0].error == 0);
    end_test();
}

TEST(recall_held, "a fork holds recalls back, and they begin afterwards")
{
    begin_test();
    lease(0, 1, 1);
    CHECK(lease_hold_locked(&space));
    begin_wait(0, 0, 1);
    CHECK_EQ(asked_count, 0);
    lease_let_go_locked(&space);
    lease_resume(&space);
    CHECK_EQ(asked_count, 1);
    CHECK(!lease_hold_locked(&space));
    answer(0, 0);
    CHECK(waiting[0].done);
    end_test();
}

/* No lease is being recalled twice. */
static void check_asked(void)
{
    for (size_t i = 0; i < asked_count; i++) {
        for (size_t k = 0; k < i; k++)
            CHECK(lease_of(i) != lease_of(k));
    }
}

TEST(recall_random,
     "whatever the leases, the ranges and the failures, each wait ends, and without failures without leases")
{
    uint64_t state = 5;

    for (int round = 0; round < 400; round++) {
        uint64_t count = 1 + test_below(&state, 300), holders = 1 + test_below(&state, 6);
        bool fails = round % 2 != 0;

        begin_test();
        for (uint64_t i = 0; i < count; i++)
            lease(i, i + 1,
                  1 + (uint32_t)(test_below(&state, 3) == 0 ? test_below(&state, holders) : i * holders / count));
        for (uint32_t begun = 0; begun < WAITS || asked_count > 0;) {
            heap_left = test_below(&state, 4) == 0 ? 0 : -1;
            if (begun < WAITS && test_below(&state, 3) == 0) {
                uint64_t first = test_below(&state, count);

                begin_wait(begun++, first, first + 1 + test_below(&state, count - first));
            } else if (asked_count > 0) {
                answer(test_below(&state, asked_count), fails && test_below(&state, 8) == 0 ? -ENOMEM : 0);
            }
            CHECK(asked_count > 0 || list_empty(&space.leases.waits));
            check_asked();
        }
        for (uint32_t i = 0; i < WAITS; i++)
            CHECK(waiting[i].done && (waiting[i].error == 0 || fails));
        end_test();
    }
}
