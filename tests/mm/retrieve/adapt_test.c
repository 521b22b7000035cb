/* The decisions of the adaptive retrieval.
 * sources: mm/retrieve/adapt.c */
#include "mm/retrieve/adapt.h"

#include "tests/test.h"

#define W ADAPT_WINDOW

/* Decides again and again on windows like WINDOW, from RUNS on; returns the choice after TIMES. */
static struct adapt_choice after(const struct adapt_window *window, uint32_t runs, uint32_t times)
{
    struct adapt_choice choice = {.runs = runs};

    while (times-- > 0)
        choice = adapt_choose(window, choice.runs);
    return choice;
}

TEST(adapt_new_pages, "a kernel that makes new pages, or asks in vain, wants nothing brought along")
{
    for (uint32_t frames = 0; 4 * frames < W; frames++) {
        for (uint32_t runs = 0; runs <= ADAPT_RUNS_MAX; runs++) {
            struct adapt_window window = {.answers = W, .frames = frames, .brought = 4, .used = 4};

            CHECK_EQ(after(&window, runs, 1).runs, 0);
            CHECK(!after(&window, runs, 1).fill);
        }
    }
}

TEST(adapt_shared_pages, "who asks for what others have, and uses what comes along, gets more and more, up to the most")
{
    struct adapt_window window = {.answers = W, .frames = W, .brought = W, .used = W, .asked_ns = 1, .all_ns = 100};

    CHECK_EQ(after(&window, 0, 1).runs, 1);
    CHECK_EQ(after(&window, 0, 2).runs, 2);
    CHECK_EQ(after(&window, 0, 6).runs, ADAPT_RUNS_MAX);
    CHECK_EQ(after(&window, 0, 60).runs, ADAPT_RUNS_MAX);
    CHECK(!after(&window, 0, 60).fill);
}

TEST(adapt_unused, "what is not used is brought less and less, and none at last; between the bounds nothing changes")
{
    struct adapt_window none = {.answers = W, .frames = W, .brought = W, .used = 0};
    struct adapt_window some = {.answers = W, .frames = W, .brought = 100, .used = 30};

    CHECK_EQ(after(&none, ADAPT_RUNS_MAX, 1).runs, ADAPT_RUNS_MAX / 2);
    CHECK_EQ(after(&none, ADAPT_RUNS_MAX, 6).runs, 0);
    for (uint32_t runs = 1; runs <= ADAPT_RUNS_MAX; runs++)
        CHECK_EQ(after(&some, runs, 5).runs, runs);
}

TEST(adapt_nothing_near, "where nothing lies near, the number stays")
{
    struct adapt_window window = {.answers = W, .frames = W};

    CHECK_EQ(after(&window, 4, 9).runs, 4);
}

TEST(adapt_fill,
     "everything is wanted only where most of the time goes into questions, for what others have, all of it used")
{
    const struct adapt_window all = {.answers = W, .frames = W, .brought = W, .used = W, .asked_ns = 60, .all_ns = 100};
    struct adapt_window window = all;

    CHECK(after(&window, ADAPT_RUNS_MAX, 1).fill);
    CHECK(!after(&window, ADAPT_RUNS_MAX / 2, 1).fill);
    window.frames = W / 2;
    CHECK(!after(&window, ADAPT_RUNS_MAX, 1).fill);
    window = all;
    window.used = W / 2;
    CHECK(!after(&window, ADAPT_RUNS_MAX, 1).fill);
    window = all;
    window.asked_ns = 40;
    CHECK(!after(&window, ADAPT_RUNS_MAX, 1).fill);
    window = all;
    window.brought = window.used = 0;
    CHECK(!after(&window, ADAPT_RUNS_MAX, 1).fill);
}
