/* From frames to the pages that they hold. Frames' notes and the heap are pretended. */
#include "kernel/arch/x86_64/base/layout.h"
#undef DIRECT_BASE
#define DIRECT_BASE 0ull

#include "mm/frame/object_page.c"

#include <stdlib.h>
#include <string.h>

#include "tests/stand_in/heap.h"
#include "tests/test.h"

#define FRAMES 2000u
#define FIRST 0x123000ull

static uint16_t notes[FRAMES];

uint16_t *frame_note(uint64_t frame)
{
    return &notes[(frame - FIRST) / PAGE_SIZE];
}

uint64_t frame_alloc_zeroed(void)
{
    return heap_left == 0 ? 0 : (uint64_t)calloc(1, PAGE_SIZE);
}

void frame_free(uint64_t frame, uint32_t order)
{
    CHECK_EQ(order, 0);
    free((void *)frame);
}

TEST(object_page_names, "each frame has the name that it was given last, until it is allocated again")
{
    for (uint64_t i = 0; i < FRAMES; i++)
        CHECK_EQ(frame_object_page(FIRST + i * PAGE_SIZE), 0);
    for (uint64_t i = 0; i < FRAMES; i += 3)
        CHECK(frame_set_object_page(FIRST + i * PAGE_SIZE, 1000 + i));
    for (uint64_t i = 0; i < FRAMES; i++)
        CHECK_EQ(frame_object_page(FIRST + i * PAGE_SIZE), i % 3 == 0 ? 1000 + i : 0);
    CHECK(frame_set_object_page(FIRST, 7));
    CHECK_EQ(frame_object_page(FIRST), 7);
    CHECK(frame_set_object_page(FIRST, 0));
    CHECK_EQ(frame_object_page(FIRST), 0);
    notes[3] = 0; /* as the allocator leaves it */
    CHECK_EQ(frame_object_page(FIRST + 3 * PAGE_SIZE), 0);
}

TEST(object_page_memory, "without memory for its table a frame has no name")
{
    uint64_t far = FIRST + (FRAMES - 1) * PAGE_SIZE;

    memset(notes, 0, sizeof(notes));
    for (uint32_t i = 0; i < BUCKETS; i++) {
        while (buckets[i] != NULL) {
            struct table *next = buckets[i]->next;

            free((void *)(uintptr_t)buckets[i]->backing);
            free(buckets[i]);
            buckets[i] = next;
        }
    }
    heap_left = 0;
    CHECK(!frame_set_object_page(far, 9));
    CHECK_EQ(frame_object_page(far), 0);
    CHECK(frame_set_object_page(far, 0));
    heap_left = -1;
    CHECK(frame_set_object_page(far, 9));
    CHECK_EQ(frame_object_page(far), 9);
}
