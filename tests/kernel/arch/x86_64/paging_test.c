/* Page tables in pretended frames, read back by a walk of our own.
 * sources: kernel/arch/x86_64/paging.c kernel/arch/x86_64/paging_large.c */
#include "kernel/arch/x86_64/paging.h"

#include <stdlib.h>

#include "kernel/abi/errno.h"
#include "kernel/abi/limits.h"
#include "tests/test.h"

#define FRAMES 64u
#define BASE 0x7000000ull /* where the frames pretend to lie */
#define TOP 0xfffffffffffff000ull
#define SIZE_4K PAGE_SIZE
#define RW (PAGING_WRITE | PAGING_NO_EXECUTE)

static _Alignas(4096) uint64_t frames[FRAMES][512];
static uint32_t used, limit;
static struct page_tables tables;

static uint64_t alloc(void *context)
{
    CHECK(context == &used);
    if (used == limit)
        return 0;
    memset(frames[used], 0, sizeof(frames[used]));
    return BASE + PAGE_SIZE * used++;
}

static void begin(void)
{
    used = 0;
    limit = FRAMES;
    tables = (struct page_tables){.delta = (uint64_t)frames - BASE, .alloc = alloc, .context = &used};
    tables.root = alloc(&used);
}

/* What the hardware would make of VA: the leaf entry, or 0, and the page's size. USER: every level on the way allows
 * it. */
static uint64_t walk(uint64_t va, uint64_t *size, bool *user)
{
    uint64_t table = tables.root;

    *user = true;
    for (unsigned shift = 39;; shift -= 9) {
        uint64_t entry;

        CHECK(table >= BASE && table < BASE + used * PAGE_SIZE);
        entry = frames[(table - BASE) / PAGE_SIZE][va >> shift & 511];
        *size = 1ull << shift;
        if ((entry & PAGING_PRESENT) == 0)
            return 0;
        *user = *user && (entry & PAGING_USER) != 0;
        if (shift == 12 || (entry & PAGING_LARGE) != 0) {
            CHECK(shift == 12 || shift == 21 || shift == 30);
            return entry;
        }
        CHECK((entry & PAGING_WRITE) != 0 && (entry & PAGING_NO_EXECUTE) == 0); /* the leaf alone decides */
        table = entry & PAGING_FRAME;
    }
}

static void check_maps(uint64_t va, uint64_t pa, uint64_t flags, uint64_t size)
{
    uint64_t large = size > SIZE_4K ? PAGING_LARGE : 0;
    uint64_t found;
    bool user;

    CHECK(walk(va, &found, &user) == (pa | flags | PAGING_PRESENT | large));
    CHECK_EQ(found, size);
}

static void check_unmapped(uint64_t va)
{
    uint64_t size;
    bool user;

    CHECK_EQ(walk(va, &size, &user), 0);
}

TEST(paging_small, "pages are mapped one by one, and their neighbours are not")
{
    begin();
    CHECK_EQ(paging_map(&tables, 0x401000, 0x12345000, 3 * SIZE_4K, RW, SIZE_4K), 0);
    for (uint64_t i = 0; i < 3; i++)
        check_maps(0x401000 + i * SIZE_4K, 0x12345000 + i * SIZE_4K, RW, SIZE_4K);
    check_unmapped(0x400000);
    check_unmapped(0x404000);
    CHECK_EQ(used, 4);
}

TEST(paging_large_sizes, "a range that allows it gets 2 MiB and 1 GiB pages in the middle and small ones at its ends")
{
    uint64_t va = 0xffff888000000000ull + PAGING_SIZE_1G - PAGING_SIZE_2M - SIZE_4K;
    uint64_t pa = PAGING_SIZE_1G * 3 - PAGING_SIZE_2M - SIZE_4K;
    uint64_t size = SIZE_4K + PAGING_SIZE_2M + PAGING_SIZE_1G + PAGING_SIZE_2M + SIZE_4K;

    begin();
    CHECK_EQ(paging_map(&tables, va, pa, size, RW, PAGING_SIZE_1G), 0);
    check_unmapped(va - SIZE_4K);
    check_maps(va, pa, RW, SIZE_4K);
    check_maps(va + SIZE_4K, pa + SIZE_4K, RW, PAGING_SIZE_2M);
    check_maps(va + SIZE_4K + PAGING_SIZE_2M, PAGING_SIZE_1G * 3, RW, PAGING_SIZE_1G);
    check_maps(va + size - SIZE_4K - PAGING_SIZE_2M, pa + size - SIZE_4K - PAGING_SIZE_2M, RW, PAGING_SIZE_2M);
    check_maps(va + size - SIZE_4K, pa + size - SIZE_4K, RW, SIZE_4K);
    check_unmapped(va + size);
}

TEST(paging_largest, "no page is larger than the caller allows")
{
    begin();
    CHECK_EQ(paging_map(&tables, 0, 0, PAGING_SIZE_1G, RW, PAGING_SIZE_2M), 0);
    check_maps(0, 0, RW, PAGING_SIZE_2M);
    check_maps(511 * PAGING_SIZE_2M, 511 * PAGING_SIZE_2M, RW, PAGING_SIZE_2M);
    begin();
    CHECK_EQ(paging_map(&tables, 0, 0, PAGING_SIZE_2M, RW, SIZE_4K), 0);
    check_maps(PAGING_SIZE_2M - SIZE_4K, PAGING_SIZE_2M - SIZE_4K, RW, SIZE_4K);
}

TEST(paging_misaligned, "where virtual and physical address differ in alignment, pages stay small")
{
    begin();
    CHECK_EQ(paging_map(&tables, PAGING_SIZE_2M, PAGING_SIZE_2M + SIZE_4K, PAGING_SIZE_2M, RW, PAGING_SIZE_1G), 0);
    check_maps(PAGING_SIZE_2M, PAGING_SIZE_2M + SIZE_4K, RW, SIZE_4K);
    check_maps(2 * PAGING_SIZE_2M - SIZE_4K, 2 * PAGING_SIZE_2M, RW, SIZE_4K);
}

TEST(paging_user, "only the lower half's tables let user mode through")
{
    uint64_t size;
    bool user;

    begin();
    CHECK_EQ(paging_map(&tables, 0x7ffffffff000ull, 0x5000, SIZE_4K, RW | PAGING_USER, SIZE_4K), 0);
    CHECK_EQ(paging_map(&tables, 0xffff800000000000ull, 0x6000, SIZE_4K, RW | PAGING_USER, SIZE_4K), 0);
    CHECK(walk(0x7ffffffff000ull, &size, &user) != 0 && user);
    CHECK(walk(0xffff800000000000ull, &size, &user) != 0 && !user);
}

TEST(paging_top, "the last page, the last 2 MiB and the last 1 GiB of the address space can be mapped")
{
    begin();
    CHECK_EQ(paging_map(&tables, TOP, 0x9000, SIZE_4K, RW, PAGING_SIZE_1G), 0);
    check_maps(TOP, 0x9000, RW, SIZE_4K);
    begin();
    CHECK_EQ(paging_map(&tables, 0 - PAGING_SIZE_2M, PAGING_SIZE_2M, PAGING_SIZE_2M, RW, PAGING_SIZE_1G), 0);
    check_maps(TOP, PAGING_SIZE_2M, RW, PAGING_SIZE_2M);
    begin();
    CHECK_EQ(paging_map(&tables, 0 - PAGING_SIZE_1G, PAGING_SIZE_1G, PAGING_SIZE_1G, RW, PAGING_SIZE_1G), 0);
    check_maps(TOP, PAGING_SIZE_1G, RW, PAGING_SIZE_1G);
}

TEST(paging_replace, "mapping again replaces what was there")
{
    begin();
    CHECK_EQ(paging_map(&tables, 0x400000, 0x1000, 4 * SIZE_4K, RW, SIZE_4K), 0);
    CHECK_EQ(paging_map(&tables, 0x401000, 0x20000, SIZE_4K, 0, SIZE_4K), 0);
    check_maps(0x400000, 0x1000, RW, SIZE_4K);
    check_maps(0x401000, 0x20000, 0, SIZE_4K);
    check_maps(0x402000, 0x3000, RW, SIZE_4K);
}

TEST(paging_no_frames, "without frames for tables the part before is mapped and the rest is not")
{
    begin();
    limit = 4; /* the root and one path */
    CHECK_EQ(paging_map(&tables, PAGING_SIZE_2M - SIZE_4K, 0x1000, 2 * SIZE_4K, RW, SIZE_4K), -ENOMEM);
    check_maps(PAGING_SIZE_2M - SIZE_4K, 0x1000, RW, SIZE_4K);
    check_unmapped(PAGING_SIZE_2M);
    CHECK(paging_entry(&tables, PAGING_SIZE_2M, true) == NULL);
}

TEST(paging_entries, "an entry is found where a table is, made on demand, and never inside a large page")
{
    uint64_t *entry;

    begin();
    CHECK(paging_entry(&tables, 0x400000, false) == NULL);
    CHECK_EQ(used, 1);
    entry = paging_entry(&tables, 0x400000, true);
    CHECK(entry != NULL && *entry == 0);
    CHECK_EQ(used, 4);
    CHECK(paging_entry(&tables, 0x400fff, false) == entry);
    CHECK(paging_entry(&tables, 0x401000, false) == entry + 1);
    CHECK_EQ(paging_map(&tables, PAGING_SIZE_1G, 0, PAGING_SIZE_2M, RW, PAGING_SIZE_2M), 0);
    CHECK(paging_entry(&tables, PAGING_SIZE_1G, true) == NULL);
    CHECK(paging_entry(&tables, PAGING_SIZE_1G + SIZE_4K, false) == NULL);
}

TEST(paging_prepared, "preparing a range makes the second-level table of every 512 GiB it touches and no other")
{
    begin();
    CHECK_EQ(paging_prepare(&tables, 0xffffc90000000000ull, PAGING_SIZE_1G), 0);
    CHECK_EQ(used, 2);
    CHECK_EQ(paging_prepare(&tables, 0xffffc90000000000ull, PAGING_SIZE_1G), 0);
    CHECK_EQ(used, 2);
    CHECK_EQ(paging_prepare(&tables, (1ull << 39) - SIZE_4K, 2 * SIZE_4K), 0);
    CHECK_EQ(used, 4);
    CHECK_EQ(paging_prepare(&tables, 0 - PAGING_SIZE_1G, PAGING_SIZE_1G), 0);
    CHECK_EQ(used, 5);
    limit = used;
    CHECK_EQ(paging_prepare(&tables, 0xffff900000000000ull, SIZE_4K), -ENOMEM);
}

struct visited {
    uint64_t va[16], entry[16], size[16];
    uint32_t count;
};

static void visit(void *context, uint64_t va, uint64_t *entry, uint64_t size)
{
    struct visited *visited = context;

    CHECK(visited->count < 16);
    visited->va[visited->count] = va;
    visited->entry[visited->count] = *entry;
    visited->size[visited->count++] = size;
}

static void check_visit(uint64_t va, uint64_t end, uint32_t count, const uint64_t *expected)
{
    struct visited visited = {.count = 0};

    paging_visit(&tables, va, end, visit, &visited);
    CHECK_EQ(visited.count, count);
    for (uint32_t i = 0; i < count; i++)
        CHECK(visited.va[i] == expected[i]);
}

TEST(paging_visits, "a visit sees each nonzero leaf of its range once, in ascending order, with its size, and no other")
{
    static const uint64_t all[] = {0x1000,
                                   0x3000,
                                   PAGING_SIZE_2M - SIZE_4K,
                                   PAGING_SIZE_2M,
                                   2 * PAGING_SIZE_2M,
                                   2 * PAGING_SIZE_1G,
                                   3ull << 39,
                                   (4ull << 39) - SIZE_4K};
    struct visited visited = {.count = 0};

    begin();
    CHECK_EQ(paging_map(&tables, all[0], 0x10000, SIZE_4K, RW, SIZE_4K), 0);
    *paging_entry(&tables, all[1], true) = 0x20000 | PAGING_SOFT_PENDING_FREE; /* not present, and still a leaf */
    CHECK_EQ(paging_map(&tables, all[2], 0x30000, SIZE_4K, RW, SIZE_4K), 0);
    CHECK_EQ(paging_map(&tables, all[3], PAGING_SIZE_2M, PAGING_SIZE_2M, RW, PAGING_SIZE_2M), 0);
    CHECK_EQ(paging_map(&tables, all[4], 0x40000, SIZE_4K, RW, SIZE_4K), 0);
    CHECK_EQ(paging_map(&tables, all[5], PAGING_SIZE_1G, PAGING_SIZE_1G, RW, PAGING_SIZE_1G), 0);
    CHECK_EQ(paging_map(&tables, all[6], 0x50000, SIZE_4K, RW, SIZE_4K), 0);
    CHECK_EQ(paging_map(&tables, all[7], 0x60000, SIZE_4K, RW, SIZE_4K), 0);
    check_visit(0, 4ull << 39, 8, all);
    check_visit(0, 0x7ffffffff000ull, 8, all);
    check_visit(0x1000, 0x3000, 1, all);
    check_visit(0x2000, 0x3000, 0, NULL);
    check_visit(0x2000, 0x4000, 1, all + 1);
    check_visit(PAGING_SIZE_2M - SIZE_4K, PAGING_SIZE_2M + SIZE_4K, 2, all + 2);
    check_visit(PAGING_SIZE_2M + SIZE_4K, 2 * PAGING_SIZE_2M, 1, all + 3); /* the middle of a large page */
    check_visit((3ull << 39) + SIZE_4K, 4ull << 39, 1, all + 7);
    check_visit(0x3000, 0x3000, 0, NULL);
    paging_visit(&tables, 0, 4ull << 39, visit, &visited);
    CHECK_EQ(visited.size[2], SIZE_4K);
    CHECK_EQ(visited.size[3], PAGING_SIZE_2M);
    CHECK_EQ(visited.size[5], PAGING_SIZE_1G);
    CHECK(visited.entry[1] == (0x20000 | PAGING_SOFT_PENDING_FREE));
}

TEST(paging_visits_top, "a visit reaches the top of the address space")
{
    static const uint64_t all[] = {0xffffffff80000000ull, 0xffffffffffffe000ull};

    begin();
    CHECK_EQ(paging_map(&tables, all[0], 0x10000, SIZE_4K, RW, SIZE_4K), 0);
    CHECK_EQ(paging_map(&tables, all[1], 0x20000, SIZE_4K, RW, SIZE_4K), 0);
    check_visit(0xffff800000000000ull, TOP, 2, all);
    check_visit(0xffffffff80000000ull, 0xffffffff80001000ull, 1, all);
    check_visit(0xffffffff80001000ull, TOP, 1, all + 1);
}

TEST(paging_next_leaf_all, "the tables of pages are found in ascending order, none twice, from any start to any end")
{
    static const uint64_t at[] = {0,
                                  3 * PAGING_SIZE_2M,
                                  511 * PAGING_SIZE_2M,
                                  PAGING_SIZE_1G + 5 * PAGING_SIZE_2M,
                                  (7ull << 39) + PAGING_SIZE_1G,
                                  0x7fffffe00000ull};
    uint64_t va = 0, *leaf;
    size_t found = 0;

    begin();
    CHECK(paging_next_leaf(&tables, &va, 0x7ffffffff000ull) == NULL);
    for (size_t i = 0; i < 6; i++)
        *paging_entry(&tables, at[i] + 0x5000, true) = i + 1;
    /* large pages have no such table */
    CHECK_EQ(paging_map(&tables, 4 * PAGING_SIZE_2M, PAGING_SIZE_2M, PAGING_SIZE_2M, RW, PAGING_SIZE_2M), 0);
    CHECK_EQ(paging_map(&tables, 4 * PAGING_SIZE_1G, PAGING_SIZE_1G, PAGING_SIZE_1G, RW, PAGING_SIZE_1G), 0);
    for (va = 0; (leaf = paging_next_leaf(&tables, &va, 0x7ffffffff000ull)) != NULL; va += PAGING_SIZE_2M) {
        CHECK(found < 6);
        CHECK_EQ(va, at[found]);
        CHECK_EQ(leaf[paging_index(va + 0x5000)], ++found);
    }
    CHECK_EQ(found, 6);
    for (size_t i = 0; i < 6; i++) {
        va = at[i] + 0x7000;
        CHECK(paging_next_leaf(&tables, &va, at[i] + 0x8000) != NULL);
        CHECK_EQ(va, at[i]);
        va = i > 0 ? at[i - 1] + PAGING_SIZE_2M : 0;
        CHECK(paging_next_leaf(&tables, &va, at[i]) == NULL);
    }
}

static uint8_t released[FRAMES];
static uint32_t leaves_ended; /* entries of tables of pages that were there when those ended */

static void end_leaf(void *context, uint64_t *entries)
{
    CHECK(context == released);
    for (uint32_t i = 0; i < 512; i++)
        leaves_ended += entries[i] != 0;
}

static void release(void *context, uint64_t frame)
{
    CHECK(context == released);
    CHECK(frame >= BASE && frame < BASE + used * PAGE_SIZE);
    CHECK_EQ(released[(frame - BASE) / PAGE_SIZE], 0);
    released[(frame - BASE) / PAGE_SIZE] = 1;
    memset(frames[(frame - BASE) / PAGE_SIZE], 0xff, PAGE_SIZE); /* it is somebody else's from now on */
}

TEST(paging_next_used_all, "the entries in use are found from any start to any end, and none behind it")
{
    static uint64_t table[512] __attribute__((aligned(4096)));

    for (uint32_t gap = 1; gap < 40; gap++) {
        memset(table, 0, sizeof(table));
        for (uint32_t i = gap / 2; i < 512; i += gap)
            table[i] = 1;
        for (uint32_t start = 0; start < 90; start++) {
            for (uint32_t end = start; end <= 512; end += 1 + end / 60) {
                uint32_t expected = start;

                while (expected < end && table[expected] == 0)
                    expected++;
                CHECK_EQ(paging_next_used(table, start, end), expected);
            }
        }
    }
}

TEST(paging_releases, "a release hands out every table of its range once, no page, and leaves the other ranges")
{
    const struct paging_release with = {end_leaf, release, released};
    uint32_t kept;

    begin();
    CHECK_EQ(paging_map(&tables, 0xffff888000000000ull, 0, SIZE_4K, RW, SIZE_4K), 0);
    kept = used;
    memset(released, 0, sizeof(released));
    CHECK_EQ(paging_map(&tables, 0x1000, BASE, SIZE_4K, RW, SIZE_4K), 0); /* leaves that look like our frames */
    CHECK_EQ(paging_map(&tables, PAGING_SIZE_2M, PAGING_SIZE_2M, PAGING_SIZE_2M, RW, PAGING_SIZE_2M), 0);
    CHECK_EQ(paging_map(&tables, PAGING_SIZE_1G, PAGING_SIZE_1G, PAGING_SIZE_1G, RW, PAGING_SIZE_1G), 0);
    CHECK_EQ(paging_map(&tables, 0x7fffffffe000ull, BASE, SIZE_4K, RW, SIZE_4K), 0);
    *paging_entry(&tables, 5ull << 39, true) = BASE | PAGING_SOFT_PENDING_FREE;
    leaves_ended = 0;
    paging_release(&tables, 0, 0x7ffffffff000ull, &with);
    CHECK_EQ(leaves_ended, 3);
    for (uint32_t i = 0; i < used; i++)
        CHECK_EQ(released[i], i >= kept);
    check_unmapped(0x1000);
    check_unmapped(0x7fffffffe000ull);
    check_maps(0xffff888000000000ull, 0, RW, SIZE_4K);
}
