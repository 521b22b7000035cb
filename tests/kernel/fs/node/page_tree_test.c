/* Trees of pages of several levels, against an array.
 * sources: kernel/fs/node/page_tree.c */
#include "kernel/fs/node/page_tree.h"

#include "kernel/abi/errno.h"
#include "tests/stand_in/heap.h"
#include "tests/test.h"

#define PAGES 160u

static uint64_t words[PAGES]; /* the model: the word of page_of(i) */

/* Neighbours, and pages that are far from all others, in ascending order. */
static uint64_t page_of(uint32_t i)
{
    return i < 100 ? i : i < 130 ? 5000 + (i - 100) * 30ull : 1ull << (i - 115); /* 2^15 to 2^44 */
}

static uint32_t usable(void)
{
    uint32_t i = PAGES;

    while (page_of(i - 1) >= PAGE_TREE_PAGES)
        i--;
    return i;
}

static void check_same(const struct page_tree *tree, const uint64_t *model)
{
    uint64_t count = 0, page = 0, word;

    for (uint32_t i = usable(); i-- > 0;) {
        count += model[i] != 0;
        CHECK_EQ(page_tree_get(tree, page_of(i)), model[i]);
        CHECK_EQ(page_tree_count(tree, page_of(i)), count);
    }
    CHECK_EQ(page_tree_count(tree, 0), count);
    for (; page_tree_next(tree, page, &page, &word); page++)
        count--;
    CHECK_EQ(count, 0);
}

static void drop_odd(void *context, uint64_t page, uint64_t *word)
{
    (void)context;
    (void)page;
    if (*word % 2 != 0)
        *word = 0;
}

/* Moves a range, or nothing without memory. */
static void move(struct page_tree *tree, uint32_t first, uint32_t behind)
{
    uint64_t cut_words[PAGES] = {0};
    struct page_tree cut = {0};
    int error = page_tree_move(tree, page_of(first), page_of(behind), &cut);

    CHECK(error == 0 || (error == -ENOMEM && heap_left == 0));
    for (uint32_t i = first; error == 0 && i < behind; i++) {
        cut_words[i] = words[i];
        words[i] = 0;
    }
    check_same(&cut, cut_words);
    page_tree_clear(&cut, NULL);
}

static void run(uint64_t seed, bool short_of_memory)
{
    struct page_tree tree = {0};
    uint64_t random = seed;

    memset(words, 0, sizeof(words));
    for (uint32_t step = 0; step < 300; step++) {
        uint32_t i = (uint32_t)test_below(&random, usable()), k = (uint32_t)test_below(&random, usable());

        heap_left = short_of_memory ? (int64_t)test_below(&random, 9) : -1;
        if (test_below(&random, 20) == 0) {
            move(&tree, i, k);
        } else if (test_below(&random, 40) == 0) {
            page_tree_each(&tree, drop_odd, NULL);
            for (uint32_t at = 0; at < PAGES; at++)
                words[at] = words[at] % 2 != 0 ? 0 : words[at];
        } else if (words[i] == 0) {
            uint64_t *slot = page_tree_slot(&tree, page_of(i));

            CHECK(slot != NULL || short_of_memory);
            if (slot != NULL)
                page_tree_fill(&tree, page_of(i), slot, words[i] = 1 + test_below(&random, 1000));
        }
        check_same(&tree, words);
    }
    page_tree_clear(&tree, NULL);
    CHECK_EQ(heap_bytes, 0);
    CHECK_EQ(page_tree_nodes(), 0);
}

TEST(page_tree_random,
     "words are where an array has them, and are counted, whatever ranges were moved and words dropped")
{
    for (uint64_t seed = 1; seed <= 100; seed++)
        run(seed, false);
}

TEST(page_tree_short, "the same when memory runs out anywhere: what was refused has changed nothing")
{
    for (uint64_t seed = 1; seed <= 100; seed++)
        run(seed, true);
}
