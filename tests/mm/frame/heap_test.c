/* The heap on pretended frames: objects do not overlap, all memory comes back, and the reserve is for the sure.
 * sources: mm/frame/frame.c mm/frame/buddy.c mm/frame/cache.c kernel/lib/string.c */
#include "kernel/arch/x86_64/base/layout.h"
#undef DIRECT_BASE
#define DIRECT_BASE 0x200000000000ull /* where a process can map it */

#include "mm/frame/heap.c"

#include <stdlib.h>
#include <sys/mman.h>

#include "tests/stand_in/panic.h"
#include "tests/test.h"

volatile uint32_t refuse_rate;

bool refuse_slowly(const void *site)
{
    (void)site;
    return false;
}

#define ARENA (16ull << 20)
#define BASE 0x40000000ull
#define OBJECTS 4000u

bool cpu_several;
uint32_t cpu_total = 1;

static uint8_t *arena;
static uint64_t all; /* frames that are free before anything is allocated */

static uint64_t free_frames(void)
{
    struct frame_stats stats;

    frame_stats(&stats);
    return stats.free;
}

void *window_direct(uint64_t pa)
{
    return (void *)(DIRECT_BASE + pa);
}

static void begin(void)
{
    if (arena != NULL)
        return;
    arena = mmap((void *)(DIRECT_BASE + BASE), ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                 -1, 0);
    CHECK(arena != MAP_FAILED);
    CHECK_EQ(frame_add_range(BASE, ARENA, DIRECT_BASE, 0), 0);
    frame_start_cpu(0);
    all = free_frames();
}

static struct {
    uint8_t *at;
    size_t size;
} objects[OBJECTS];

static bool whole(uint32_t i)
{
    for (size_t k = 0; k < objects[i].size; k++) {
        if (objects[i].at[k] != (uint8_t)i)
            return false;
    }
    return true;
}

TEST(heap_objects, "objects of all sizes keep their bytes, and their frames come back but for one of each class")
{
    uint64_t state = 3;
    struct heap_stats stats;

    begin();
    for (uint32_t step = 0; step < 40000; step++) {
        uint32_t i = (uint32_t)test_below(&state, OBJECTS);

        if (objects[i].at != NULL) {
            CHECK(whole(i));
            heap_free(objects[i].at, objects[i].size);
            objects[i].at = NULL;
            continue;
        }
        objects[i].size = 1 + test_below(&state, test_below(&state, 20) == 0 ? 20000 : 3000);
        objects[i].at = heap_alloc(objects[i].size);
        if (objects[i].at == NULL) {
            CHECK(frame_is_low() || objects[i].size > PAGE_SIZE);
            continue;
        }
        for (size_t k = 0; k < objects[i].size; k++)
            CHECK_EQ(objects[i].at[k], 0);
        memset(objects[i].at, (uint8_t)i, objects[i].size);
    }
    for (uint32_t i = 0; i < OBJECTS; i++)
        heap_free(objects[i].at, objects[i].size);
    heap_stats(&stats);
    CHECK_EQ(stats.small, 0);
    CHECK_EQ(stats.large, 0);
    CHECK(all - free_frames() <= CLASSES + 2 * PAGES_KEPT);
    CHECK_EQ(all - free_frames(), stats.small_frames);
}

TEST(heap_reserve, "who must not be refused gets objects where others do not, and the others do not get their rest")
{
    void *first = NULL, *sure[40];
    uint64_t left;

    begin();
    for (void **at; (at = heap_alloc(128)) != NULL; first = at)
        *at = first;
    CHECK(frame_is_low());
    left = free_frames();
    CHECK(left > 0);
    for (uint32_t i = 0; i < 40; i++)
        CHECK((sure[i] = heap_alloc_sure(128)) != NULL);
    CHECK(left - free_frames() >= 1 && left - free_frames() <= 2);
    CHECK(heap_alloc(128) == NULL);
    CHECK(heap_alloc(PAGE_SIZE) == NULL);
    for (uint32_t i = 0; i < 40; i++)
        heap_free(sure[i], 128);
    while (first != NULL) {
        void *next = *(void **)first;

        heap_free(first, 128);
        first = next;
    }
    CHECK(!frame_is_low());
    CHECK(heap_alloc(PAGE_SIZE << (FRAME_ORDER_MAX + 1)) == NULL);
}

/* Who panics keeps the lock. */
#define CHECK_REFUSED(at, size)                                                                                        \
    do {                                                                                                               \
        CHECK_PANIC(heap_free(at, size));                                                                              \
        CHECK(spin_held(&lock));                                                                                       \
        spin_unlock(&lock);                                                                                            \
    } while (0)

TEST(heap_wrong,
     "an object that is freed with another size, or the only one of a frame that is freed twice, is a panic")
{
    void *object;

    begin();
    object = heap_alloc(128);
    CHECK_REFUSED(object, 64);
    CHECK_REFUSED(object, 256);
    heap_free(object, 128);
    CHECK_REFUSED(object, 128);
}
