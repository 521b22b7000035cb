/* The pairing heap against a sorted array.
 * sources: tasks/sched/fair/time_queue.c */
#include "tasks/sched/fair/time_queue.h"

#include <stdlib.h>

#include "tests/test.h"

#define MANY 1000

static struct time_node nodes[MANY];
static bool inside[MANY];

/* Every node that is inside is found once, below no greater key. */
static void check(const struct time_queue *queue)
{
    static int seen[MANY];
    int expected = 0, found = 0;
    uint64_t least = UINT64_MAX;

    memset(seen, 0, sizeof(seen));
    for (struct time_node *node = queue->first; node != NULL; node = time_queue_next(node)) {
        CHECK(++found <= MANY);
        CHECK_EQ(seen[node - nodes]++, 0);
        CHECK(inside[node - nodes]);
        for (struct time_node *child = node->child; child != NULL; child = child->next) {
            CHECK(child->key >= node->key);
            CHECK(child->previous == (child == node->child ? node : child->previous));
        }
    }
    for (int i = 0; i < MANY; i++) {
        expected += inside[i];
        if (inside[i] && nodes[i].key < least)
            least = nodes[i].key;
    }
    CHECK_EQ(found, expected);
    if (queue->first != NULL)
        CHECK_EQ(queue->first->key, least);
    else
        CHECK_EQ(expected, 0);
}

TEST(time_queue_order, "what was added in any order comes out in order")
{
    struct time_queue queue;
    uint64_t state = 1, last = 0;

    time_queue_init(&queue);
    for (int i = 0; i < MANY; i++) {
        nodes[i].key = test_below(&state, 500);
        time_queue_add(&queue, &nodes[i]);
    }
    for (int i = 0; i < MANY; i++) {
        struct time_node *node = time_queue_pop(&queue);

        CHECK(node->key >= last);
        last = node->key;
    }
    CHECK(queue.first == NULL);
}

TEST(time_queue_one, "a queue of one is empty after it was taken, by either way")
{
    struct time_queue queue;

    time_queue_init(&queue);
    nodes[0].key = 7;
    time_queue_add(&queue, &nodes[0]);
    CHECK(time_queue_next(queue.first) == NULL);
    CHECK(time_queue_pop(&queue) == &nodes[0]);
    CHECK(queue.first == NULL);
    time_queue_add(&queue, &nodes[0]);
    time_queue_remove(&queue, &nodes[0]);
    CHECK(queue.first == NULL);
}

TEST(time_queue_equal, "of two with equal keys the one that was first stays first")
{
    struct time_queue queue;

    time_queue_init(&queue);
    nodes[0].key = nodes[1].key = 5;
    time_queue_add(&queue, &nodes[0]);
    time_queue_add(&queue, &nodes[1]);
    CHECK(queue.first == &nodes[0]);
}

TEST(time_queue_random, "any mix of adding, taking and removing leaves a whole queue")
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct time_queue queue;
        uint64_t state = seed;

        time_queue_init(&queue);
        memset(inside, 0, sizeof(inside));
        for (int step = 0; step < 2000; step++) {
            uint64_t i = test_below(&state, seed * MANY / 20);
            struct time_node *first = queue.first;

            if (!inside[i]) {
                nodes[i].key = test_below(&state, 100);
                time_queue_add(&queue, &nodes[i]);
                inside[i] = true;
            } else if (test_below(&state, 2) == 0) {
                time_queue_remove(&queue, &nodes[i]);
                inside[i] = false;
            } else {
                CHECK(time_queue_pop(&queue) == first);
                inside[first - nodes] = false;
            }
            if (step % 16 == 0)
                check(&queue);
        }
        check(&queue);
    }
}
