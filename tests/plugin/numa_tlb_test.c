/* The modelled TLB, walks of page tables, and the file of a model.
 * sources: tools/plugin/numa/tlb.c tools/plugin/numa/walk.c tools/plugin/numa/config.c
 */
#include "tools/plugin/numa/tlb.h"
#include "tools/plugin/numa/walk.h"

#include "tests/test.h"

#define PAGE UINT64_C(4096)
#define LARGE_PAGE (UINT64_C(1) << 21)

static struct tlb tlb;

static void begin(uint32_t sets, uint32_t ways)
{
    tlb_free(&tlb);
    CHECK(tlb_make(&tlb, (struct numa_shape){sets, ways}));
}

TEST(replaces, "the least recently used entry of a set makes room")
{
    begin(4, 2);
    tlb_put(&tlb, 0, 12, false);
    tlb_put(&tlb, 4 * PAGE, 12, false);
    CHECK(tlb_find(&tlb, 123) != NULL);
    tlb_put(&tlb, 8 * PAGE, 12, false);
    CHECK(tlb_find(&tlb, 0) != NULL);
    CHECK(tlb_find(&tlb, 4 * PAGE) == NULL);
    CHECK(tlb_find(&tlb, 8 * PAGE + 4095) != NULL);
    CHECK(tlb_find(&tlb, PAGE) == NULL);
}

TEST(large_pages, "an entry of a large page is found by all its addresses")
{
    begin(4, 2);
    tlb_put(&tlb, 5 * LARGE_PAGE + 12345, 21, false);
    CHECK(tlb_find(&tlb, 5 * LARGE_PAGE) != NULL);
    CHECK(tlb_find(&tlb, 6 * LARGE_PAGE - 1) != NULL);
    CHECK(tlb_find(&tlb, 6 * LARGE_PAGE) == NULL);
    CHECK(tlb_find(&tlb, 5 * LARGE_PAGE - 1) == NULL);
}

TEST(flushes, "a new root leaves global entries alone")
{
    begin(4, 2);
    tlb_put(&tlb, 0, 12, false);
    tlb_put(&tlb, PAGE, 12, true);
    tlb_flush(&tlb, false);
    CHECK(tlb_find(&tlb, 0) == NULL);
    CHECK(tlb_find(&tlb, PAGE) != NULL);
    tlb_flush(&tlb, true);
    CHECK(tlb_find(&tlb, PAGE) == NULL);
}

TEST(doubt, "after some address was dropped, entries whose tables changed are gone and the others stay")
{
    uint64_t tables[] = {0x1003, 0x2003, 0x3003};
    begin(4, 2);
    for (int i = 0; i < 3; i++) {
        struct tlb_entry *entry = tlb_put(&tlb, i * PAGE, 12, i == 0);
        entry->leaf = &tables[i];
        entry->content = tables[i];
    }
    tables[0] |= 0x60; /* accessed and dirty */
    tables[1] = 0;
    CHECK(tlb_find(&tlb, PAGE) != NULL); /* as in a processor, as long as nobody drops it */
    tlb_suspect(&tlb);
    CHECK(tlb_find(&tlb, 0) != NULL);
    CHECK(tlb_find(&tlb, PAGE) == NULL);
    CHECK(tlb_find(&tlb, 2 * PAGE) != NULL);
    tables[1] = 0x2003;
    CHECK(tlb_find(&tlb, PAGE) == NULL);
}

/* --- walks: memory is a few tables of 512 entries --- */

static uint64_t memory[6][512];

static uint64_t read_memory(void *context, uint64_t physical)
{
    CHECK(context == memory && physical % 8 == 0);
    uint64_t table = physical / PAGE;
    return table < 6 ? memory[table][physical % PAGE / 8] : 0;
}

static struct walk walk(unsigned int levels, uint64_t address)
{
    struct walk_root root = {.address = 0x18, .levels = levels}; /* low bits of CR3 are no address */
    return walk_tables(&root, address, read_memory, memory);
}

TEST(small_page, "a walk reads an entry of each level and ends at the page")
{
    uint64_t address = UINT64_C(0xffff800000000000) | UINT64_C(3) << 39 | UINT64_C(5) << 30 | 7 << 21 | 9 << 12 | 0x123;
    memset(memory, 0, sizeof(memory));
    memory[0][256 + 3] = 1 * PAGE | 3;
    memory[1][5] = 2 * PAGE | 3;
    memory[2][7] = 3 * PAGE | 3;
    memory[3][9] = UINT64_C(0x8000000123456103); /* global, not executable */
    struct walk found = walk(4, address);
    CHECK(found.mapped && found.global);
    CHECK_EQ(found.count, 4);
    CHECK_EQ(found.shift, 12);
    CHECK_EQ(found.page, 0x123456000);
    CHECK_EQ(found.entries[0], (256 + 3) * 8);
    CHECK_EQ(found.entries[3], 3 * PAGE + 9 * 8);
    CHECK_EQ(found.leaf, UINT64_C(0x8000000123456103));
}

TEST(large_page, "a walk ends at a large page")
{
    memset(memory, 0, sizeof(memory));
    memory[0][0] = 1 * PAGE | 3;
    memory[1][1] = 2 * PAGE | 3;
    memory[2][7] = UINT64_C(0x40001000) | 0x83; /* bit 12 is the PAT's */
    struct walk found = walk(4, (1 << 30) + 7 * LARGE_PAGE + 0x54321);
    CHECK(found.mapped && !found.global);
    CHECK_EQ(found.count, 3);
    CHECK_EQ(found.shift, 21);
    CHECK_EQ(found.page, 0x40000000);
    memory[1][1] = UINT64_C(0x80000000) | 0x83;
    CHECK_EQ(walk(4, 1 << 30).count, 2);
    CHECK_EQ(walk(4, 1 << 30).shift, 30);
}

TEST(five_levels, "five levels are walked, too")
{
    memset(memory, 0, sizeof(memory));
    for (int i = 0; i < 4; i++) {
        memory[i][0] = (i + 1) * PAGE | 3;
    }
    memory[4][2] = 0x77003;
    CHECK_EQ(walk(5, 2 * PAGE).count, 5);
    CHECK_EQ(walk(5, 2 * PAGE).page, 0x77000);
}

TEST(no_page, "a walk that finds nothing says how far it came")
{
    memset(memory, 0, sizeof(memory));
    memory[0][0] = 1 * PAGE | 3;
    CHECK(!walk(4, 0).mapped);
    CHECK_EQ(walk(4, 0).count, 2);
    memory[1][0] = 0x99999000003; /* a table outside of memory */
    CHECK(!walk(4, 0).mapped);
    CHECK_EQ(walk(4, 0).count, 3);
}

/* --- the file --- */

#define GOOD                                                                                                           \
    "low 100\ncache 4 2 1\nllc 8 2 30\ntlb 4 4\nprefetch 2\nlink 0\nnode 50 10 20\nnode 50 21 9\ncpu 0\ncpu 1\ncpu "   \
    "1\n"

static const char *read_text(const char *text, struct numa_config *config)
{
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    const char *problem = numa_config_read(file, config);
    fclose(file);
    return problem;
}

TEST(good_file, "a good file is read")
{
    struct numa_config config;
    CHECK(read_text(GOOD, &config) == NULL);
    CHECK_EQ(config.nodes, 2);
    CHECK_EQ(config.cpus, 3);
    CHECK_EQ(config.latency[0][1], 20);
    CHECK_EQ(config.latency[1][0], 21);
    CHECK_EQ(config.memory[1], 50);
    CHECK_EQ(config.place_of[2], 1);
    CHECK_EQ(config.llc.ways, 2);
    CHECK_EQ(config.llc_cycles, 30);
    CHECK_EQ(config.cache_cycles, 1);
}

TEST(bad_files, "what is no machine is refused")
{
    static const char *const bad[] = {"",
                                      GOOD "node 50 1 2\n", /* not square */
                                      GOOD "cpu 2\n",       /* no such node */
                                      GOOD "cache 3 2 1\n", /* no power of two */
                                      GOOD "llc 8 0 30\n",
                                      GOOD "what 1\n",
                                      GOOD "prefetch x\n",
                                      "node 50 10\ncpu 0\ncache 4 2 1\n"};
    struct numa_config config;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CHECK(read_text(bad[i], &config) != NULL);
    }
    tlb_free(&tlb);
}
