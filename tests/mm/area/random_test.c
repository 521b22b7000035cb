/* The list of areas at the size of large programs: against a map with one word a page, and with ten thousand areas.
 * sources: mm/area/area.c mm/area/tree.c */
#include "kernel/abi/errno.h"

#define PAGES 700u
#include "tests/mm/area/model.h"

#define SEEDS 8
#define STEPS 2500
#define MANY 10000u
#define MANY_HEIGHT 18u /* an AVL tree of N nodes is at most 1.4405 log2(N + 2) - 0.3277 high */

static struct area *many[MANY];

static void random_run(uint64_t seed)
{
    uint64_t state = seed;
    uint32_t most = 0;

    begin();
    for (int i = 0; i < STEPS; i++) {
        struct step step = random_step(&state);
        bool refused = step_refused(&step);

        /* whoever removes half as much as others set has many areas after a while */
        if (step.kind == KIND_REMOVE && i % 2 == 0)
            step.end = step.start + 1;
        CHECK_EQ(step_list(&step), refused ? -ENOMEM : 0);
        if (!refused)
            step_map(&step);
        check_list();
        if (i % 8 == 0)
            check_queries(&state);
        most = list.count > most ? list.count : most;
    }
    CHECK(most > PAGES / 8); /* else this was a test of few areas */
    begin();
}

TEST(area_random_large, "random changes of a large map agree with it, and so do all questions and the tree")
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        printf("# seed %llu\n", (unsigned long long)seed);
        random_run(seed);
    }
}

/* One page each, with I + 1 pages free before the one of number I: no two gaps are alike. */
static uint64_t many_start(uint64_t i)
{
    return at(i + (i + 1) * (i + 2) / 2);
}

static void check_height(void)
{
    CHECK_EQ(list.count, MANY);
    check_order();
    check_tree();
    CHECK(list.root->height >= 14 && list.root->height <= MANY_HEIGHT);
}

/* Numbers 0 to MANY - 1 in random order. */
static void shuffle(uint32_t *order, uint64_t *state)
{
    for (uint32_t i = 0; i < MANY; i++)
        order[i] = i;
    for (uint32_t i = MANY - 1; i > 0; i--) {
        uint32_t j = (uint32_t)test_below(state, i + 1), other = order[j];

        order[j] = order[i];
        order[i] = other;
    }
}

static void add(uint64_t i)
{
    CHECK_EQ(area_set(&list, many_start(i), many_start(i) + PAGE_SIZE, AREA_READ), 0);
}

TEST(area_height, "ten thousand areas make a low tree in whatever order they come, and while they go")
{
    static uint32_t order[MANY];
    uint64_t state = 3;

    begin();
    for (uint32_t i = 0; i < MANY; i++)
        add(i);
    check_height();
    begin();
    for (uint32_t i = MANY; i-- > 0;)
        add(i);
    check_height();
    begin();
    for (uint32_t i = 0; i < MANY / 2; i++) {
        add(i);
        add(MANY - 1 - i);
    }
    check_height();
    begin();
    shuffle(order, &state);
    for (uint32_t i = 0; i < MANY; i++)
        add(order[i]);
    check_height();
    shuffle(order, &state);
    for (uint32_t i = 0; i < MANY; i++) {
        uint64_t start = many_start(order[i]);

        CHECK_EQ(area_remove(&list, start, start + PAGE_SIZE), 0);
        if (i % 500 == 0) {
            check_order();
            check_tree();
        }
    }
    CHECK(list.count == 0 && list.root == NULL);
    begin();
}

TEST(area_fork_height, "ten thousand areas that are appended in order make a low tree")
{
    begin();
    for (uint32_t i = 0; i < MANY; i++)
        CHECK_EQ(area_append(&list, many_start(i), many_start(i) + PAGE_SIZE, AREA_READ), 0);
    check_height();
    begin();
}

/* Makes the links of all areas to their neighbours unusable: whoever follows one dies. */
static void hide_neighbours(void)
{
    uint32_t count = 0;

    list_for_each_safe(node, &list.head) {
        many[count++] = container_of(node, struct area, node);
        node->next = NULL;
        node->previous = NULL;
    }
    list.head = (struct list){NULL, NULL};
}

static void show_neighbours(void)
{
    list_init(&list.head);
    for (uint32_t i = 0; i < MANY; i++)
        list_append(&list.head, &many[i]->node);
}

TEST(area_lookup, "in ten thousand areas every question is answered by the low tree alone, without the list's links")
{
    uint64_t steps = 0;

    begin();
    for (uint32_t i = 0; i < MANY; i++)
        add(i);
    check_height();
    hide_neighbours();
    for (uint32_t i = 0; i < MANY; i++) {
        uint64_t start = many_start(i), before = i > 0 ? many_start(i - 1) + PAGE_SIZE : 0;
        const struct area *area = area_find(&list, start + 1);

        CHECK(area == many[i] && area->start == start);
        CHECK(area_find(&list, start - 1) == NULL && area_next(&list, start - 1) == area);
        CHECK(area_next(&list, before) == area);
        CHECK(area_overlaps(&list, start, start + 1) && !area_overlaps(&list, before, start));
        CHECK(area_covers(&list, start, start + 1) && !area_covers(&list, before, start));
        /* of the gaps before this area only the one right before it is so long */
        CHECK_EQ(area_find_gap(&list, at(i + 1), PAGE_SIZE, start + PAGE_SIZE), i == 0 ? 0 : before);
        CHECK_EQ(area_find_gap(&list, at(i + 2), PAGE_SIZE, start + PAGE_SIZE), 0);
        CHECK_EQ(area_find_gap(&list, PAGE_SIZE, PAGE_SIZE, start + PAGE_SIZE), i == 0 ? 0 : start - PAGE_SIZE);
        for (uint32_t down = 0; area != NULL; area = area->parent) {
            CHECK(++down <= MANY_HEIGHT);
            steps++;
        }
    }
    show_neighbours();
    CHECK(steps <= (uint64_t)MANY * 15); /* on average a walk is near log2(MANY) = 13.3 */
    check_height();
    begin();
}

TEST(area_cut_many, "one removal, one protection and one set over ten thousand areas leave a true tree")
{
    uint64_t first = many_start(100), last = many_start(MANY - 100);

    begin();
    for (uint32_t i = 0; i < MANY; i++)
        add(i);
    CHECK_EQ(area_protect_known(&list, first, last, AREA_WRITE), 0);
    check_height();
    CHECK_EQ(area_find(&list, last)->prot, AREA_READ);
    CHECK_EQ(area_find(&list, many_start(MANY - 101))->prot, AREA_WRITE);
    CHECK_EQ(area_remove(&list, first, last), 0);
    CHECK_EQ(list.count, 200);
    check_order();
    check_tree();
    CHECK_EQ(area_find_gap(&list, last - first, PAGE_SIZE, many_start(MANY)), last - (last - first));
    CHECK_EQ(area_set(&list, at(1), many_start(MANY), AREA_READ), 0);
    CHECK_EQ(list.count, 1);
    check_order();
    check_tree();
    begin();
}
