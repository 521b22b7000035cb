/* The walk over all nodes in parts, whose length nodes and pages share.
 * sources: kernel/fs/node/node.c kernel/fs/node/content.c kernel/fs/node/page_tree.c */
#include "kernel/fs/node/node.h"

#include "kernel/fs/node/attribute.h"
#include "kernel/fs/node/map.h"
#include "kernel/fs/node/notify.h"
#include "kernel/fs/node/policy.h"
#include "tasks/futex/word/object.h"
#include "tests/kernel/fs/node/content_frames.h"
#include "tests/stand_in/panic.h"

uint64_t clock_now(void)
{
    return 0;
}

uint64_t clock_epoch(void)
{
    return 0;
}

uint32_t futex_object_counters[FUTEX_OBJECT_COUNTERS];
volatile uint32_t inotify_watches;
struct inotify_hooks inotify_hooks;

void file_events_init(struct file_events *events)
{
    (void)events;
}

void attributes_free(struct node *node)
{
    (void)node;
}

void node_maps_free(struct node *node)
{
    (void)node;
}

void node_policy_free(struct node *node)
{
    (void)node;
}

bool node_maps_written_locked(const struct node *node)
{
    (void)node;
    return false;
}

void work_submit(struct work *work)
{
    work->run(work);
}

uint64_t rdtsc_unordered(void)
{
    return 0;
}

bool slice_pause(void)
{
    return false;
}

#define NODES 90u /* of a page each */

static struct node *nodes[NODES];

static void make_nodes(void)
{
    begin();
    quota_unlimited |= 1u << QUOTA_FILE_PAGES;
    for (uint32_t i = 0; i < NODES; i++) {
        nodes[i] = node_create(0100600);
        CHECK(nodes[i] != NULL);
        CHECK_EQ(content_write(&nodes[i]->content, 0, "x", 1), 1);
        CHECK_EQ(node_own(nodes[i], 0, 0), 0);
    }
}

struct walk {
    uint64_t page;
    uint32_t left;
    uint32_t frames; /* of this part */
    uint64_t all;
};

static void count_frame(uint64_t frame, void *context)
{
    struct walk *walk = context;

    (void)frame;
    walk->frames++;
    walk->all++;
}

static bool look_at(struct node *node, void *context)
{
    struct walk *walk = context;

    if (content_some(&node->content, &walk->page, &walk->left, count_frame, walk))
        return false;
    walk->page = 0;
    return true;
}

/* Walks over all in parts of LEFT. Returns how many frames there were. */
static uint64_t walk_all(uint32_t left)
{
    struct walk walk = {0};
    uint64_t number = 0;
    bool more = true;

    while (more) {
        uint64_t before = number, page = walk.page;

        walk.left = left;
        walk.frames = 0;
        more = node_some(&number, &walk.left, look_at, &walk);
        CHECK(walk.frames <= left && walk.left <= left && number - before <= left);
        CHECK(!more || number > before || walk.page > page);
    }
    return walk.all;
}

TEST(parts, "a walk over all nodes calls for no more frames than it may at once, wherever a part ends")
{
    make_nodes();
    for (uint32_t left = 2; left < 2 * NODES; left++)
        CHECK_EQ(walk_all(left), NODES);
    for (uint32_t i = 0; i < NODES; i += 3)
        CHECK_EQ(content_write(&nodes[i]->content, PAGE_SIZE, "x", 1), i < 18 ? 1 : -ENOMEM);
    for (uint32_t left = 2; left < 2 * NODES; left++)
        CHECK_EQ(walk_all(left), NODES + 6);
    for (uint32_t i = 0; i < NODES; i++)
        node_put(nodes[i]);
    CHECK_EQ(frames_used(), 0);
}
