/* Policies of files: ranges that are set over each other, against a plain array; frames that a call gets by them.
 * sources: kernel/fs/node/policy.c */
#include "kernel/fs/node/policy.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/window.h"
#include "mm/frame/frame.h"
#include "mm/frame/reference.h"
#include "mm/mempolicy/mempolicy.h"
#include "msg/slice.h"
#include "tests/stand_in/heap.h"
#include "tests/test.h"

#define PAGES 64u
#define OWN 1u /* the node of this kernel */
#define PEER 2u
#define FULL 4u /* where there is no memory */

static int64_t charged, charged_most; /* bytes, of the user's quota */
static uint32_t node_of_page[PAGES];  /* of its frame; 0: it lacks one */
static uint32_t got;                  /* frames that have not been taken or freed */
static uint32_t pages_left;           /* that the user may have */
static bool own_full;                 /* this kernel's node */
static uint32_t idle, dropped;        /* frames that this kernel can do without; how often they were given up */

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
    bool has = where->nodes == OWN && !own_full;

    got += has;
    return has ? OWN * PAGE_SIZE : 0;
}

uint64_t mempolicy_frame_placed(const struct placement *where)
{
    bool has = where->nodes != FULL && !(where->nodes == OWN && own_full);

    got += has;
    return has ? where->nodes * PAGE_SIZE : 0;
}

uint64_t frame_nodes(void)
{
    return OWN;
}

bool node_drop_idle(void)
{
    dropped++;
    if (idle == 0)
        return false;
    idle--;
    own_full = false;
    return true;
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

static int take(uint64_t page, uint64_t frame)
{
    if (node_of_page[page] != 0)
        return -EEXIST;
    if (pages_left == 0)
        return -EDQUOT;
    pages_left--;
    node_of_page[page] = (uint32_t)(frame / PAGE_SIZE);
    got--;
    return 0;
}

int content_take(struct content *content, uint64_t page, struct frame_reference *new)
{
    int error = take(page, new->frame);

    (void)content;
    if (error == 0)
        heap_free(new, sizeof(*new));
    return error;
}

int content_take_own(struct content *content, uint64_t page, uint64_t frame)
{
    (void)content;
    return take(page, frame);
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
    heap_objects = got = 0;
    heap_bytes = charged = 0;
    charged_most = INT64_MAX;
    pages_left = UINT32_MAX;
    own_full = false;
    idle = dropped = 0;
    heap_left = -1;
    return (struct node){.number = 1};
}

static void end(struct node *node)
{
    node_policy_free(node);
    CHECK_EQ(heap_objects, 0);
    CHECK_EQ(got, 0);
}

static int set_by(struct node *node, bool may_write, uint64_t first, uint64_t count, enum policy_mode mode,
                  uint64_t nodes)
{
    struct policy policy = {.mode = (uint16_t)mode, .nodes = nodes};

    return node_policy_set(node, first, count, may_write, &policy);
}

static int set(struct node *node, uint64_t first, uint64_t count, enum policy_mode mode, uint64_t nodes)
{
    return set_by(node, true, first, count, mode, nodes);
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
        heap_left = turn % 11 == 0 ? (int64_t)(test_random(&random) % 3) : -1;
        if (set(&node, first, count, nodes != 0 ? POLICY_BIND : POLICY_DEFAULT, nodes) == 0) {
            for (uint64_t i = first; i < first + count; i++)
                model[i] = nodes;
        } else {
            CHECK(heap_left == 0);
        }
        CHECK_EQ(charged, heap_bytes);
        for (uint64_t i = 0; i < PAGES; i++) {
            const struct policy *policy = node_policy_locked(&node, i);

            CHECK_EQ(policy != NULL ? policy->nodes : 0, model[i]);
        }
    }
    heap_left = -1;
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

TEST(policy_most, "a file has at most 1024 ranges, also of what no policy leaves of one")
{
    struct node node = begin();

    CHECK_EQ(set(&node, 0, 10000, POLICY_BIND, PEER), 0);
    for (uint64_t i = 1; i < 1024; i++)
        CHECK_EQ(set(&node, 2 * i, 1, POLICY_DEFAULT, 0), 0);
    CHECK_EQ(set(&node, 3000, 1, POLICY_DEFAULT, 0), -ENOMEM);
    CHECK(node_policy_locked(&node, 3000) != NULL);
    CHECK_EQ(set(&node, 3, 1, POLICY_DEFAULT, 0), 0);
    CHECK_EQ(set(&node, 3000, 1, POLICY_BIND, OWN), -ENOMEM); /* it would be two more, and one is left */
    CHECK_EQ(set(&node, 3000, 1, POLICY_DEFAULT, 0), 0);
    CHECK_EQ(set(&node, 0, 10000, POLICY_BIND, OWN), -ENOMEM);
    CHECK_EQ(set(&node, 0, 10000, POLICY_DEFAULT, 0), 0);
    end(&node);
}

TEST(policy_readers, "who may not write a file gives it few ranges, whose memory is its user's")
{
    struct node node = begin();
    int64_t most;

    for (uint64_t i = 0; i < 16; i++)
        CHECK_EQ(set_by(&node, false, 2 * i, 1, POLICY_BIND, PEER), 0);
    most = charged;
    CHECK_EQ(set_by(&node, false, 40, 1, POLICY_BIND, PEER), -ENOMEM);
    CHECK(charged == most && node_policy_locked(&node, 40) == NULL);
    CHECK_EQ(set_by(&node, true, 40, 10, POLICY_BIND, PEER), 0); /* who may write it has more */
    CHECK_EQ(set_by(&node, false, 44, 1, POLICY_DEFAULT, 0), -ENOMEM);
    CHECK(node_policy_locked(&node, 44) != NULL);
    CHECK_EQ(set_by(&node, false, 40, 1, POLICY_DEFAULT, 0), 0);
    CHECK_EQ(set_by(&node, false, 0, 50, POLICY_DEFAULT, 0), 0);
    CHECK_EQ(set_by(&node, false, 0, 20, POLICY_BIND, OWN), 0);
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
    CHECK_EQ(charged, heap_bytes);
    end(&node);
}

/* A call writes the bytes from START up to END: *END becomes how far it may. */
static int write_at(struct node *node, uint64_t start, uint64_t *end, const struct policy *other, int refused)
{
    return node_policy_write_locked(node, start, end, other, OWN, refused);
}

/* The same for a call that has to wait. */
static int write_and_wait(struct node *node, uint64_t start, uint64_t *end, const struct policy *other)
{
    int error = write_at(node, start, end, other, 0), refused = 0;

    for (int turn = 0; turn < 2 && error == -EXDEV; turn++) {
        refused = node_policy_await(node, start, *end, other, OWN);
        error = write_at(node, start, end, other, refused);
    }
    return error;
}

TEST(policy_writes, "a call gets frames of this kernel at once, and waits for others")
{
    struct node node = begin();
    uint64_t end9 = 9 * PAGE_SIZE, end4 = 4 * PAGE_SIZE, end5 = 5 * PAGE_SIZE + 1;

    CHECK_EQ(write_at(&node, 0, &end9, NULL, 0), 0);
    CHECK_EQ(set(&node, 2, 2, POLICY_BIND, OWN), 0);
    CHECK_EQ(set(&node, 4, 3, POLICY_BIND, PEER), 0);
    CHECK_EQ(write_at(&node, PAGE_SIZE, &end4, NULL, 0), 0);
    CHECK(node_of_page[1] == 0 && node_of_page[2] == OWN && node_of_page[3] == OWN && node_of_page[4] == 0);
    CHECK_EQ(write_at(&node, 0, &end5, NULL, 0), -EXDEV);
    CHECK(node_of_page[4] == 0);
    CHECK_EQ(node_policy_await(&node, 0, end5, NULL, OWN), 0);
    CHECK(node_of_page[0] == 0 && node_of_page[4] == PEER && node_of_page[5] == PEER && node_of_page[6] == 0);
    CHECK_EQ(write_at(&node, 0, &end5, NULL, 0), 0);
    CHECK_EQ(end5, 5 * PAGE_SIZE + 1);
    end(&node);
}

TEST(policy_other, "the policy of the caller's thread counts where the file has none")
{
    struct node node = begin();
    struct policy other = {.mode = POLICY_BIND, .nodes = PEER};
    uint64_t behind = 10 * PAGE_SIZE;

    CHECK_EQ(node_frames_end_locked(&node, 8 * PAGE_SIZE - 1, 8 * PAGE_SIZE + 1), 8 * PAGE_SIZE - 1);
    CHECK_EQ(set(&node, 8, 1, POLICY_BIND, OWN), 0);
    CHECK_EQ(write_and_wait(&node, 7 * PAGE_SIZE, &behind, &other), 0);
    CHECK(node_of_page[7] == PEER && node_of_page[8] == OWN && node_of_page[9] == PEER && node_of_page[10] == 0);
    CHECK_EQ(node_frames_end_locked(&node, 8 * PAGE_SIZE - 1, 8 * PAGE_SIZE + 1), 8 * PAGE_SIZE + 1);
    CHECK_EQ(node_frames_end_locked(&node, 8 * PAGE_SIZE - 1, 11 * PAGE_SIZE), 10 * PAGE_SIZE);
    end(&node);
}

TEST(policy_full, "without memory on the nodes a call fails if the policy is strict, and else goes on")
{
    for (int strict = 0; strict < 2; strict++) {
        struct node node = begin();
        uint64_t behind = 9 * PAGE_SIZE;

        CHECK_EQ(set(&node, 3, 2, strict != 0 ? POLICY_BIND : POLICY_PREFERRED, FULL), 0);
        CHECK_EQ(set(&node, 5, 1, POLICY_BIND, OWN), 0);
        CHECK_EQ(write_and_wait(&node, 3 * PAGE_SIZE + 1, &behind, NULL), strict != 0 ? -ENOSPC : 0);
        CHECK_EQ(node_of_page[5], strict != 0 ? 0 : OWN); /* what comes behind a page without a frame is placed, too */
        CHECK_EQ(write_at(&node, 4 * PAGE_SIZE, &behind, NULL, 0), -EXDEV); /* a new call asks again */
        heap_left = 0;
        CHECK_EQ(node_policy_await(&node, 4 * PAGE_SIZE, behind, NULL, OWN), -ENOSPC);
        end(&node);
    }
}

TEST(policy_short, "a call writes up to the page that it cannot have")
{
    struct node node = begin();
    uint64_t behind = 9 * PAGE_SIZE;

    CHECK_EQ(set(&node, 0, 3, POLICY_BIND, PEER), 0);
    CHECK_EQ(set(&node, 3, 2, POLICY_BIND, FULL), 0);
    CHECK_EQ(write_and_wait(&node, 5, &behind, NULL), 0);
    CHECK_EQ(behind, 3 * PAGE_SIZE);
    CHECK(node_of_page[0] == PEER && node_of_page[2] == PEER && node_of_page[3] == 0);
    behind = 9 * PAGE_SIZE;
    CHECK_EQ(write_and_wait(&node, 3 * PAGE_SIZE, &behind, NULL), -ENOSPC);
    end(&node);
}

TEST(policy_quota, "what the user may not have is refused with that, wherever the page is wanted")
{
    for (uint32_t wanted = OWN; wanted <= PEER; wanted++) {
        struct node node = begin();
        uint64_t behind = 9 * PAGE_SIZE;

        CHECK_EQ(set(&node, 0, 9, POLICY_BIND, wanted), 0);
        pages_left = 4;
        CHECK_EQ(write_and_wait(&node, 0, &behind, NULL), 0);
        CHECK_EQ(behind, 4 * PAGE_SIZE);
        behind = 9 * PAGE_SIZE;
        CHECK_EQ(write_and_wait(&node, 4 * PAGE_SIZE, &behind, NULL), -EDQUOT);
        CHECK_EQ(dropped, 0);
        end(&node);
    }
}

TEST(policy_calls, "no call waits for what another one wants, or fails for it")
{
    struct node node = begin();
    struct policy full = {.mode = POLICY_BIND, .nodes = FULL}, peer = {.mode = POLICY_BIND, .nodes = PEER};
    uint64_t first = 2 * PAGE_SIZE, second = 2 * PAGE_SIZE;
    int refused;

    CHECK_EQ(write_at(&node, 0, &first, &full, 0), -EXDEV);
    CHECK_EQ(write_at(&node, 0, &second, &peer, 0), -EXDEV);
    refused = node_policy_await(&node, 0, first, &full, OWN);
    CHECK_EQ(refused, -ENOSPC);
    CHECK_EQ(node_policy_await(&node, 0, second, &peer, OWN), 0);
    CHECK(node_of_page[0] == PEER && node_of_page[1] == PEER);
    CHECK_EQ(write_at(&node, 0, &second, &peer, 0), 0);
    CHECK_EQ(write_at(&node, 0, &first, &full, refused), 0); /* the pages are there meanwhile */
    CHECK_EQ(first, 2 * PAGE_SIZE);
    end(&node);
}

TEST(policy_idle, "frames of this kernel that it can do without are given up for a page that has to be there")
{
    struct node node = begin();
    struct policy own = {.mode = POLICY_BIND, .nodes = OWN}, full = {.mode = POLICY_BIND, .nodes = FULL};

    own_full = true;
    CHECK_EQ(node_policy_await(&node, 0, PAGE_SIZE, &full, OWN), -ENOSPC);
    CHECK_EQ(dropped, 0);
    idle = 1;
    CHECK_EQ(node_policy_await(&node, 0, PAGE_SIZE, &own, OWN), 0);
    CHECK(node_of_page[0] == OWN && dropped == 1);
    own_full = true;
    CHECK_EQ(node_policy_await(&node, 0, 2 * PAGE_SIZE, &own, OWN), -ENOSPC);
    end(&node);
}
