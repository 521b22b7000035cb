/* The cache of mapped files, on frames that the test counts. The source is included, so that each test begins with an
 * empty one. */
#include "mm/file_cache.c"

#include <stdlib.h>

#include "tests/test.h"

#define FRAMES 8u
#define SIZE (2 * PAGE_SIZE + 100) /* of object 5, whose bytes are 1; there is no other */

struct instance instance = {.kernel = 2};
static uint8_t memory[FRAMES][PAGE_SIZE];
static uint32_t spaces[FRAMES]; /* UINT32_MAX: free */
static bool heap_empty;

static uint32_t number_of(uint64_t frame)
{
    CHECK(frame >= PAGE_SIZE && frame < (FRAMES + 1) * PAGE_SIZE && frame % PAGE_SIZE == 0);
    return (uint32_t)(frame / PAGE_SIZE) - 1;
}

void *heap_alloc(size_t size)
{
    return heap_empty ? NULL : calloc(1, size);
}

void heap_free(void *object, size_t size)
{
    (void)size;
    free(object);
}

void *window_direct(uint64_t pa)
{
    return memory[number_of(pa)];
}

uint64_t frame_alloc_page(bool zeroed)
{
    CHECK(!zeroed);
    for (uint32_t i = 0; i < FRAMES; i++) {
        if (spaces[i] == UINT32_MAX) {
            spaces[i] = 0;
            memset(memory[i], 0xee, PAGE_SIZE);
            return (i + 1) * PAGE_SIZE;
        }
    }
    return 0;
}

void frame_free(uint64_t frame, uint32_t order)
{
    CHECK_EQ(order, 0);
    CHECK_EQ(spaces[number_of(frame)], 0);
    spaces[number_of(frame)] = UINT32_MAX;
}

void frame_share(uint64_t frame)
{
    CHECK(spaces[number_of(frame)] != UINT32_MAX);
    spaces[number_of(frame)]++;
}

void frame_release(uint64_t frame)
{
    CHECK(spaces[number_of(frame)] != UINT32_MAX && spaces[number_of(frame)] > 0);
    if (--spaces[number_of(frame)] == 0)
        spaces[number_of(frame)] = UINT32_MAX;
}

uint32_t frame_spaces(uint64_t frame)
{
    return spaces[number_of(frame)];
}

static int read_object(uint32_t object, uint64_t page, void *to)
{
    uint64_t rest = page < 3 ? SIZE - page * PAGE_SIZE : 0;

    if (object != 5 || rest == 0)
        return -ENXIO;
    memset(to, 0, PAGE_SIZE);
    memset(to, 1, rest < PAGE_SIZE ? rest : PAGE_SIZE);
    return 0;
}

static const struct file_objects test_objects = {read_object};

static uint64_t page_of(uint64_t page)
{
    return backing_make(2, 5, page);
}

static uint32_t free_frames(void)
{
    uint32_t free = 0;

    for (uint32_t i = 0; i < FRAMES; i++)
        free += spaces[i] == UINT32_MAX;
    return free;
}

static void begin(void)
{
    heap_empty = false;
    for (uint32_t i = 0; i < BUCKETS && objects != NULL; i++) {
        list_for_each_safe(node, &buckets[i])
            free(container_of(node, struct cached, node));
    }
    memset(spaces, 0xff, sizeof(spaces));
    count = 0;
    file_cache_serve(&test_objects);
}

TEST(cache_same, "who asks for a page twice gets one frame, with the file's bytes, zeros behind them, and counted")
{
    uint64_t first = 0, second = 0;

    begin();
    CHECK_EQ(file_cache_get(page_of(2), &first), 0);
    CHECK_EQ(file_cache_get(page_of(2), &second), 0);
    CHECK_EQ(first, second);
    CHECK_EQ(frame_spaces(first), 3);
    CHECK_EQ(file_cache_count(), 1);
    CHECK_EQ(memory[number_of(first)][99], 1);
    CHECK_EQ(memory[number_of(first)][100], 0);
    CHECK_EQ(memory[number_of(first)][PAGE_SIZE - 1], 0);
    CHECK_EQ(file_cache_get(page_of(1), &second), 0);
    CHECK(first != second);
}

TEST(cache_none, "a page behind the end, of no object or of another kernel is refused, and costs nothing")
{
    uint64_t frame = 0;

    begin();
    CHECK_EQ(file_cache_get(page_of(3), &frame), -ENXIO);
    CHECK_EQ(file_cache_get(backing_make(2, 6, 0), &frame), -ENXIO);
    CHECK_EQ(file_cache_get(backing_make(1, 5, 0), &frame), -ENXIO);
    CHECK_EQ(file_cache_get(BACKING_NONE, &frame), -ENXIO);
    CHECK_EQ(free_frames(), FRAMES);
    CHECK_EQ(file_cache_count(), 0);
}

TEST(cache_short, "without memory the pages that no space has are given back, and no other")
{
    uint64_t held = 0, idle = 0, frame = 0;

    begin();
    CHECK_EQ(file_cache_get(page_of(0), &held), 0);
    CHECK_EQ(file_cache_get(page_of(1), &idle), 0);
    frame_release(idle);
    while (frame_alloc_page(false) != 0) {
    }
    CHECK_EQ(file_cache_get(page_of(2), &frame), 0);
    CHECK_EQ(frame, idle);
    CHECK_EQ(frame_spaces(held), 2);
    CHECK_EQ(file_cache_count(), 2);
    CHECK_EQ(file_cache_get(page_of(1), &idle), -ENOMEM);
    CHECK_EQ(file_cache_get(page_of(0), &idle), 0);
    CHECK_EQ(idle, held);
}

TEST(cache_heap, "without memory for the cache's own record nothing is lost")
{
    uint64_t frame = 0;

    begin();
    heap_empty = true;
    CHECK_EQ(file_cache_get(page_of(0), &frame), -ENOMEM);
    CHECK_EQ(free_frames(), FRAMES);
    heap_empty = false;
    CHECK_EQ(file_cache_get(page_of(0), &frame), 0);
}

static void note(uint64_t frame, void *context)
{
    *(uint64_t *)context += frame;
}

TEST(cache_each, "each frame of the cache is told once")
{
    uint64_t sum = 0, a = 0, b = 0;

    begin();
    CHECK_EQ(file_cache_get(page_of(0), &a), 0);
    CHECK_EQ(file_cache_get(page_of(1), &b), 0);
    file_cache_each(note, &sum);
    CHECK_EQ(sum, a + b);
}
