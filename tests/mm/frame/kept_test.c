/* Sets of frames that caches keep. Frames and the heap are pretended. */
#include "mm/frame/kept.c"

#include "tests/stand_in/heap.h"
#include "tests/stand_in/panic.h"
#include "tests/test.h"

#define FRAMES 64u

static uint8_t memory[FRAMES][PAGE_SIZE] __attribute__((aligned(PAGE_SIZE)));
static uint32_t spaces[FRAMES]; /* references to each */
static uint32_t most_in_a_row = FRAMES;

void *window_direct(uint64_t pa)
{
    return (void *)pa;
}

uint64_t window_physical(const void *direct)
{
    return (uint64_t)direct;
}

static uint64_t first(void)
{
    return window_physical(memory);
}

static uint32_t used(void)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < FRAMES; i++)
        count += spaces[i] != 0;
    return count;
}

uint64_t frame_alloc_run(uint64_t set, uint32_t most, uint32_t *count)
{
    uint32_t at = 0;

    (void)set;
    while (at < FRAMES && spaces[at] != 0)
        at++;
    for (*count = 0; *count < most && *count < most_in_a_row && at + *count < FRAMES && spaces[at + *count] == 0;)
        spaces[at + (*count)++] = 1;
    return *count > 0 ? first() + at * PAGE_SIZE : 0;
}

uint32_t frame_spaces(uint64_t frame)
{
    return spaces[(frame - first()) / PAGE_SIZE];
}

void frame_release(uint64_t frame)
{
    CHECK(spaces[(frame - first()) / PAGE_SIZE] > 0);
    spaces[(frame - first()) / PAGE_SIZE]--;
}

bool frame_runs_add_slowly(struct frame_runs *runs, uint64_t frame)
{
    if (runs->count == FRAME_RUNS)
        return false;
    runs->run[runs->count].first = frame;
    runs->run[runs->count++].pages = 1;
    return true;
}

void frame_runs_release_all(struct frame_runs *runs)
{
    for (uint32_t i = 0; i < runs->count; i++) {
        for (uint64_t page = 0; page < runs->run[i].pages; page++)
            frame_release(runs->run[i].first + page * PAGE_SIZE);
    }
    runs->count = 0;
}

static void count_one(uint64_t frame, void *context)
{
    uint32_t *seen = context;

    seen[(frame - first()) / PAGE_SIZE]++;
}

static void count_all(uint32_t *seen)
{
    struct frame_kept_place place = {0};

    while (frame_kept_some(&place, count_one, seen)) {
    }
}

TEST(kept_extend, "a set that grows keeps its frames and their contents")
{
    struct frame_kept kept;
    uint8_t *before[3];

    frame_kept_init(&kept);
    CHECK_EQ(frame_kept_extend(&kept, 0), 0);
    CHECK_EQ(frame_kept_extend(&kept, 3), 0);
    for (size_t i = 0; i < 3; i++) {
        before[i] = kept.pages[i];
        before[i][0] = (uint8_t)(i + 1);
    }
    most_in_a_row = 2; /* the rest is of several runs */
    CHECK_EQ(frame_kept_extend(&kept, 20), 0);
    CHECK_EQ(frame_kept_extend(&kept, 5), 0); /* never fewer */
    most_in_a_row = FRAMES;
    CHECK_EQ(kept.count, 20);
    CHECK_EQ(frame_kept_count(), 20);
    for (size_t i = 0; i < 3; i++)
        CHECK(kept.pages[i] == before[i] && before[i][0] == i + 1);
    for (size_t i = 0; i < 20; i++)
        CHECK_EQ(frame_spaces(window_physical(kept.pages[i])), 1);
    frame_kept_drop(&kept);
    CHECK_EQ(frame_kept_count(), 0);
    CHECK_EQ(used(), 0);
    CHECK_EQ(heap_objects, 0);
    frame_kept_drop(&kept); /* an empty one */
}

TEST(kept_refused, "without frames, or heap, nothing has changed")
{
    struct frame_kept kept;

    frame_kept_init(&kept);
    CHECK_EQ(frame_kept_extend(&kept, FRAMES + 1), -ENOMEM);
    CHECK_EQ(used(), 0);
    CHECK_EQ(frame_kept_extend(&kept, 10), 0);
    CHECK_EQ(frame_kept_extend(&kept, FRAMES + 1), -ENOMEM);
    heap_left = 0;
    CHECK_EQ(frame_kept_extend(&kept, 11), -ENOMEM);
    heap_left = -1;
    CHECK_EQ(kept.count, 10);
    CHECK_EQ(used(), 10);
    CHECK_EQ(frame_kept_count(), 10);
    frame_kept_drop(&kept);
    CHECK_EQ(used(), 0);
    CHECK_EQ(heap_objects, 0);
}

TEST(kept_each, "all frames of all sets are counted, once, and those with spaces stay with them")
{
    struct frame_kept kept[2];
    uint32_t seen[FRAMES] = {0};

    for (int i = 0; i < 2; i++) {
        frame_kept_init(&kept[i]);
        CHECK_EQ(frame_kept_extend(&kept[i], 7), 0);
        CHECK(!frame_kept_mapped(&kept[i]));
    }
    spaces[(window_physical(kept[1].pages[3]) - first()) / PAGE_SIZE]++;
    CHECK(!frame_kept_mapped(&kept[0]) && frame_kept_mapped(&kept[1]));
    count_all(seen);
    for (uint32_t i = 0; i < FRAMES; i++)
        CHECK_EQ(seen[i], i < 14 ? 1 : 0);
    frame_kept_drop(&kept[1]);
    CHECK_EQ(used(), 8);
    memset(seen, 0, sizeof(seen));
    count_all(seen);
    for (uint32_t i = 0; i < FRAMES; i++)
        CHECK_EQ(seen[i], i < 7 ? 1 : 0);
    frame_kept_drop(&kept[0]);
    CHECK_EQ(used(), 1);
    CHECK_EQ(heap_objects, 0);
}

TEST(kept_some, "what sets keep is told in pieces, once, also while sets change, go and come")
{
    enum { SETS = 5, PAGES = 3 * FRAMES_AT_ONCE / 2 };
    static uint8_t *pages[SETS][PAGES];
    static uint32_t seen[FRAMES];
    struct frame_kept kept[SETS];
    struct frame_kept_place place = {0};
    uint32_t calls = 0, told = 0;

    for (uint32_t i = 0; i < SETS; i++) { /* each set has one frame, in all of its places */
        frame_kept_init(&kept[i]);
        CHECK_EQ(frame_kept_extend(&kept[i], 1), 0);
        for (uint32_t page = 0; page < PAGES; page++)
            pages[i][page] = kept[i].pages[0];
        heap_free(kept[i].pages, sizeof(kept[i].pages[0]));
        kept[i].pages = pages[i];
        kept[i].count = PAGES;
    }
    while (frame_kept_some(&place, count_one, seen)) {
        uint32_t now = 0;

        for (uint32_t i = 0; i < FRAMES; i++)
            now += seen[i];
        CHECK(now - told > 0 && now - told <= FRAMES_AT_ONCE);
        told = now;
        if (++calls == 2) { /* within the second set: it gets shorter, and the fourth goes and comes again */
            CHECK_EQ(place.number, kept[1].number);
            kept[1].count--;
            list_remove(&kept[3].node);
            kept[3].number = ++numbers;
            list_append(&sets, &kept[3].node);
        }
    }
    for (uint32_t i = 0; i < SETS; i++)
        CHECK_EQ(seen[(window_physical(pages[i][0]) - first()) / PAGE_SIZE], i == 1 ? PAGES - 1 : PAGES);
    CHECK_EQ(calls, (SETS * PAGES - 1) / FRAMES_AT_ONCE);
    for (uint32_t i = 0; i < SETS; i++) {
        list_remove(&kept[i].node);
        frame_release(window_physical(pages[i][0]));
    }
    kept_frames -= SETS;
}
