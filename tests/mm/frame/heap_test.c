/* The heap on pretended frames: objects do not overlap, and frames go back. The source is included, so that each test
 * begins with an empty heap. */
#include "kernel/arch/x86_64/base/layout.h"

#undef DIRECT_BASE
#define DIRECT_BASE 0x300000000000ull

#include "mm/frame/heap.c"

#include <stdlib.h>
#include <sys/mman.h>

#include "tests/test.h"

#define FRAMES 4096u

static bool used[FRAMES];
static uint32_t used_count;
static uint16_t notes[FRAMES];
static uint32_t limit; /* of frames that may be in use */

uint64_t frame_alloc(uint32_t order)
{
    uint32_t pages = 1u << order;

    for (uint32_t i = pages; i + pages <= FRAMES && used_count + pages <= limit; i += pages) {
        bool free = true;

        for (uint32_t k = i; k < i + pages; k++)
            free = free && !used[k];
        if (!free)
            continue;
        for (uint32_t k = i; k < i + pages; k++)
            used[k] = true;
        used_count += pages;
        return i * PAGE_SIZE;
    }
    return 0;
}

void frame_free(uint64_t frame, uint32_t order)
{
    for (uint64_t i = frame / PAGE_SIZE; i < frame / PAGE_SIZE + (1u << order); i++) {
        CHECK(used[i]);
        used[i] = false;
    }
    used_count -= 1u << order;
    memset((void *)(DIRECT_BASE + frame), 0xee, PAGE_SIZE << order); /* whoever has it now writes to it */
}

uint16_t *frame_note(uint64_t frame)
{
    return &notes[frame / PAGE_SIZE];
}

bool frame_make_room(void)
{
    return false;
}

void *window_direct(uint64_t pa)
{
    return (void *)(DIRECT_BASE + pa);
}

static void begin(void)
{
    static void *arena;

    if (arena == NULL)
        arena = mmap((void *)DIRECT_BASE, FRAMES * PAGE_SIZE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    CHECK(arena == (void *)DIRECT_BASE);
    memset(partial, 0, sizeof(partial));
    memset(empty, 0, sizeof(empty));
    memset(recent, 0, sizeof(recent));
    memset(recent_count, 0, sizeof(recent_count));
    memset(&counts, 0, sizeof(counts));
    memset(kept_pages, 0, sizeof(kept_pages));
    memset(kept_count, 0, sizeof(kept_count));
    memset(used, 0, sizeof(used));
    memset(notes, 0xff, sizeof(notes));
    used_count = 0;
    limit = FRAMES;
}

TEST(heap_returns, "frames go back when their objects have been freed, in whatever order, but for a few of the class")
{
    static void *objects[20000];

    for (size_t size = 1; size <= 2048; size = size * 2 + 1) {
        uint32_t count = (uint32_t)(20000 / (1 + size / 64));

        for (int order = 0; order < 3; order++) {
            begin();
            for (uint32_t i = 0; i < count; i++)
                objects[i] = heap_alloc(size);
            CHECK(used_count * PAGE_SIZE >= count * size);
            for (uint32_t i = 0; i < count; i++) {
                uint32_t at = order == 0   ? i
                              : order == 1 ? count - 1 - i
                                           : (uint32_t)(i * 7919ull % count); /* a prime */

                heap_free(objects[at], size);
            }
            CHECK_EQ(counts.small, 0);
            CHECK(used_count <= RECENT + 1);
            CHECK_EQ(counts.small_frames, used_count);
        }
    }
}

TEST(heap_random, "objects of all sizes that live at the same time have memory of their own, zeroed when they begin")
{
    static struct {
        uint8_t *bytes;
        size_t size;
    } objects[600];
    uint32_t seed = 1, live = 0;

    begin();
    for (uint32_t step = 0; step < 200000; step++) {
        uint32_t at;

        seed = seed * 1664525 + 1013904223;
        at = (seed >> 8) % 600;
        if (objects[at].bytes == NULL) {
            size_t size = 1 + (seed >> 20) % (step % 50 == 0 ? 4096 : 700);

            objects[at].bytes = heap_alloc(size);
            objects[at].size = size;
            CHECK(objects[at].bytes != NULL && ((uint64_t)objects[at].bytes & 63) == 0);
            for (size_t i = 0; i < size; i++)
                CHECK_EQ(objects[at].bytes[i], 0);
            memset(objects[at].bytes, (int)(at % 255 + 1), size);
            live++;
        } else {
            for (size_t i = 0; i < objects[at].size; i++)
                CHECK_EQ(objects[at].bytes[i], at % 255 + 1);
            heap_free(objects[at].bytes, objects[at].size);
            objects[at].bytes = NULL;
            live--;
        }
        CHECK_EQ(counts.small + counts.large, live);
    }
    for (uint32_t at = 0; at < 600; at++) {
        if (objects[at].bytes != NULL)
            heap_free(objects[at].bytes, objects[at].size);
    }
    CHECK_EQ(counts.small + counts.large, 0);
    CHECK(used_count <= CLASSES * (RECENT + 1) + 2 * PAGES_KEPT);
    CHECK_EQ(used_count, counts.small_frames);
}

TEST(heap_one, "an object that is made and freed again and again takes one frame, and does not give it back each time")
{
    begin();
    for (int i = 0; i < 1000; i++) {
        void *object = heap_alloc_unset(192);

        CHECK(object != NULL);
        heap_free(object, 192);
        CHECK_EQ(used_count, 1);
    }
}

TEST(heap_full, "without memory an allocation fails, and objects that were freed can be used again")
{
    void *objects[64];

    begin();
    limit = 1;
    for (int i = 0; i < 64; i++)
        CHECK((objects[i] = heap_alloc(64)) != NULL);
    CHECK(heap_alloc(64) == NULL);
    heap_free(objects[17], 64);
    CHECK(heap_alloc(64) == objects[17]);
    CHECK(heap_alloc(64) == NULL);
}
