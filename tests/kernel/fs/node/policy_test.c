/* Policies of files: ranges that are set over each other, against a plain array; frames that a call gets by them.
 * sources: kernel/fs/node/policy.c */
#include "kernel/fs/node/policy.h"

#include <stdlib.h>

#include "kernel/abi/errno.h"
#include "kernel/instance/window.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"
#include "mm/frame/reference.h"
#include "mm/mempolicy/mempolicy.h"
#include "msg/slice.h"
#include "tests/test.h"

#define PAGES 64u
#define OWN 1u /* the node of this kernel */
#define PEER 2u
#define FULL 3u /* where there is no memory */

static uint32_t objects, heap_left;
static int64_t bytes, charged, charged_most; /* in objects of the heap; of the user's quota */
static uint32_t node_of_page[PAGES]; /* of its frame; 0: it lacks one */
static uint32_t got;                 /* frames that have not been taken or freed */

void *heap_alloc(size_t size)
{
    if (heap_left == 0)
        return NULL;
    heap_left--;
    objects++;
    bytes += (int64_t)size;
    return calloc(1, size);
}

void heap_free(void *object, size_t size)
{
    if (object != NULL) {
        objects--;
        bytes -= (int64_t)size;
    }
    free(object);
}

int node_charge_locked(struct node *node, int64_t more)
{
    (void)node;
    if (more > 0 && charged + more > charged_most)
        return -EDQUOT;
    charged += more;
    return 0;
}

/* A frame of NODE has its number; POLICY->nodes is the node. */
void mempolicy_place(const struct policy *policy, uint64_t index, uint32_t centre, struct placement *out)
{
    CHECK(index < PAGES);
    *out = (struct placement){.nodes = policy->nodes, .centre = centre, .strict = policy->mode == POLICY_BIND ? 1 : 0};
}

uint64_t mempolicy_frame_placed_here(const struct placement *where)
{
    got += where->nodes == OWN;
    return where->nodes == OWN ? OWN * PAGE_SIZE : 0;
}

uint64_t mempolicy_frame_placed(const struct placement *where)
{
    got += where->nodes != FULL;
    return where->nodes != FULL ? where->nodes * PAGE_SIZE : 0;
}

uint32_t mempolicy_own_node(void)
{
    return OWN;
}

bool policy_equal(const struct policy *a, const struct policy *b)
{
    return a->mode == b->mode && a->nodes == b->nodes;
}

bool content_lacks_frame(const struct content *content, uint64_t page)
{
    (void)content;
    return page < PAGES && node_of_page[page] == 0;
}

static bool take(uint64_t page, uint64_t frame)
{
    if (node_of_page[page] != 0)
        return false;
    node_of_page[page] = (uint32_t)(frame / PAGE_SIZE);
    got--;
    return true;
}

int content_take(struct content *content, uint64_t page, struct frame_reference *new)
{
    (void)content;
    if (!take(page, new->frame))
        return -EEXIST;
    heap_free(new, sizeof(*new));
    return 0;
}

int content_take_own(struct content *content, uint64_t page, uint64_t frame)
{
    (void)content;
    return take(page, frame) ? 0 : -EEXIST;
}

bool window_owns(uint64_t pa, uint64_t size)
{
    (void)size;
    return pa == OWN * PAGE_SIZE;
}

void frame_share(uint64_t frame)
{
    (void)frame;
}

void frame_free_zeroed(uint64_t frame)
{
    (void)frame;
    got--;
}

void release_one(uint64_t frame)
{
    (void)frame;
    got--;
}

uint64_t rdtsc_unordered(void)
{
    return 0;
}

bool slice_pause(void)
{
    return false;
}

static struct node begin(void)
{
    memset(node_of_page, 0, sizeof(node_of_page));
    objects = got = 0;
    bytes = charged = 0;
    charged_most = INT64_MAX;
    heap_left = UINT32_MAX;
    return (struct node){.number = 1};
}

static void end(struct node *node)
{
    node_policy_free(node);
    CHECK_EQ(objects, 0);
    CHECK_EQ(got, 0);
}

static int set(struct node *node, uint64_t first, uint64_t count, enum policy_mode mode, uint64_t nodes)
{
    struct policy policy = {.mode = (uint16_t)mode, .nodes = nodes};

    return node_policy_set(node, first, count, &policy);
}

TEST(policy_ranges, "the policy of each page is the one that was set last")
{
    struct node node = begin();
    uint64_t model[PAGES] = {0}, random = 7;

    for (uint32_t turn = 0; turn < 20000; turn++) {
        uint64_t first = test_random(&random) % PAGES, count = 1 + test_random(&random) % (PAGES - first);
        uint64_t nodes = test_random(&random) % 4;

        if (turn % 7 == 0)
            count = 1;
        heap_left = turn % 11 == 0 ? (uint32_t)(test_random(&random) % 3) : UINT32_MAX;
        if (set(&node, first, count, nodes != 0 ? POLICY_BIND : POLICY_DEFAULT, nodes) == 0) {
            for (uint64_t i = first; i < first + count; i++)
                model[i] = nodes;
        } else {
            CHECK(heap_left == 0);
        }
        CHECK_EQ(charged, bytes);
        for (uint64_t i = 0; i < PAGES; i++) {
            const struct policy *policy = node_policy_locked(&node, i);

            CHECK_EQ(policy != NULL ? policy->nodes : 0, model[i]);
        }
    }
    heap_left = UINT32_MAX;
    CHECK_EQ(set(&node, 0, PAGES, POLICY_DEFAULT, 0), 0);
    end(&node);
}

TEST(policy_joined, "neighbours with the same policy are one range, so that a file may be bound page by page")
{
    struct node node = begin();

    for (uint64_t i = 0; i < 5000; i++)
        CHECK_EQ(set(&node, i % 2 == 0 ? i / 2 : 9999 - i / 2, 1, POLICY_BIND, PEER), 0);
    CHECK_EQ(set(&node, 0, 20000, POLICY_BIND, PEER), 0);
    for (uint64_t i = 1; i < 1024; i++)
        CHECK_EQ(set(&node, 20000 + 2 * i, 1, POLICY_BIND, PEER), 0);
    CHECK_EQ(set(&node, 30000, 1, POLICY_BIND, PEER), -ENOMEM); /* these are as many as a file may have */
    end(&node);
}

TEST(policy_charged, "a file's policies take memory of its user's quota, and without that nothing changes")
{
    struct node node = begin();
    int64_t one;

    charged_most = 10;
    CHECK_EQ(set(&node, 0, 1, POLICY_BIND, PEER), -ENOMEM);
    CHECK(node_policy_locked(&node, 0) == NULL && charged == 0);
    charged_most = INT64_MAX;
    CHECK_EQ(set(&node, 0, 1, POLICY_BIND, PEER), 0);
    one = charged;
    CHECK(one > 0);
    charged_most = one;
    CHECK_EQ(set(&node, 2, 1, POLICY_BIND, PEER), -ENOMEM);
    CHECK(node_policy_locked(&node, 2) == NULL && charged == one);
    charged_most = INT64_MAX;
    CHECK_EQ(set(&node, 0, 1, POLICY_DEFAULT, 0), 0);
    CHECK_EQ(charged, bytes);
    end(&node);
}

TEST(policy_writes, "a call gets frames of this kernel at once, and waits for others")
{
    struct node node = begin();

    CHECK_EQ(node_policy_write_locked(&node, 0, 9 * PAGE_SIZE, NULL, OWN), 0);
    CHECK_EQ(set(&node, 2, 2, POLICY_BIND, OWN), 0);
    CHECK_EQ(set(&node, 4, 3, POLICY_BIND, PEER), 0);
    CHECK_EQ(node_policy_write_locked(&node, PAGE_SIZE, 4 * PAGE_SIZE, NULL, OWN), 0);
    CHECK(node_of_page[1] == 0 && node_of_page[2] == OWN && node_of_page[3] == OWN && node_of_page[4] == 0);
    CHECK_EQ(node_policy_write_locked(&node, 0, 5 * PAGE_SIZE + 1, NULL, OWN), -EAGAIN);
    CHECK(node_of_page[4] == 0);
    node_policy_await(&node);
    CHECK(node_of_page[0] == 0 && node_of_page[4] == PEER && node_of_page[5] == PEER && node_of_page[6] == 0);
    CHECK_EQ(node_policy_write_locked(&node, 0, 5 * PAGE_SIZE + 1, NULL, OWN), 0);
    end(&node);
}

TEST(policy_other, "the policy of the caller's thread counts where the file has none")
{
    struct node node = begin();
    struct policy other = {.mode = POLICY_BIND, .nodes = PEER};

    CHECK(node_lacks_frames_locked(&node, 8 * PAGE_SIZE - 1, 8 * PAGE_SIZE + 1));
    CHECK_EQ(set(&node, 8, 1, POLICY_BIND, OWN), 0);
    CHECK_EQ(node_policy_write_locked(&node, 7 * PAGE_SIZE, 10 * PAGE_SIZE, &other, PEER), -EAGAIN);
    node_policy_await(&node);
    CHECK(node_of_page[7] == PEER && node_of_page[8] == OWN && node_of_page[9] == PEER && node_of_page[10] == 0);
    CHECK_EQ(node_policy_write_locked(&node, 7 * PAGE_SIZE, 10 * PAGE_SIZE, &other, PEER), 0);
    CHECK(!node_lacks_frames_locked(&node, 8 * PAGE_SIZE - 1, 8 * PAGE_SIZE + 1));
    end(&node);
}

TEST(policy_full, "without memory on the nodes a call fails if the policy is strict, and else takes what there is")
{
    for (int strict = 0; strict < 2; strict++) {
        struct node node = begin();

        CHECK_EQ(set(&node, 3, 2, strict != 0 ? POLICY_BIND : POLICY_PREFERRED, FULL), 0);
        CHECK_EQ(node_policy_write_locked(&node, 0, 9 * PAGE_SIZE, NULL, OWN), -EAGAIN);
        node_policy_await(&node);
        CHECK_EQ(node_policy_write_locked(&node, 0, 9 * PAGE_SIZE, NULL, OWN), strict != 0 ? -ENOMEM : 0);
        CHECK_EQ(node_policy_write_locked(&node, 0, 9 * PAGE_SIZE, NULL, OWN), -EAGAIN); /* a new call asks again */
        heap_left = 0;
        node_policy_await(&node); /* without memory for the reference, it is the same */
        CHECK_EQ(node_policy_write_locked(&node, 0, 9 * PAGE_SIZE, NULL, OWN), strict != 0 ? -ENOMEM : 0);
        end(&node);
    }
}
