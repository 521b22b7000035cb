/* Large pages whose table is kept aside, in pretended frames, read back by a walk of our own.
 * sources: kernel/arch/x86_64/paging.c kernel/arch/x86_64/paging_large.c */
#include "kernel/abi/errno.h"
#include "kernel/abi/limits.h"
#include "kernel/arch/x86_64/paging.h"
#include "tests/test.h"

#define FRAMES 64u
#define BASE 0x7000000ull /* where the frames pretend to lie */
#define AT 0x40000000ull  /* 2 MiB of a program's */
#define BLOCK 0x600000ull /* physical, for them */
#define END 0x7ffffffff000ull
#define ENTRIES 512u
#define RW (PAGING_PRESENT | PAGING_WRITE | PAGING_USER | PAGING_NO_EXECUTE)

static _Alignas(4096) uint64_t frames[FRAMES][ENTRIES];
static uint32_t used, limit;
static struct page_tables tables;

static uint64_t alloc(void *context)
{
    (void)context;
    if (used == limit)
        return 0;
    memset(frames[used], 0, sizeof(frames[used]));
    return BASE + PAGE_SIZE * used++;
}

static void fill(uint64_t va, uint64_t flags)
{
    uint64_t *leaf = paging_entry(&tables, va, true);

    CHECK(leaf != NULL);
    for (uint32_t i = 0; leaf != NULL && i < ENTRIES; i++)
        leaf[i] = (BLOCK + i * PAGE_SIZE) | flags;
}

static void begin(void)
{
    used = 0;
    limit = FRAMES;
    tables = (struct page_tables){.delta = (uint64_t)frames - BASE, .alloc = alloc};
    tables.root = alloc(NULL);
    fill(AT, RW | PAGING_SOFT_OWNING);
}

/* Where the hardware finds what it knows of VA; *SHIFT: of the page's size. */
static uint64_t *walk(uint64_t va, unsigned *shift)
{
    uint64_t table = tables.root;

    for (*shift = 39;; *shift -= 9) {
        uint64_t *entry;

        CHECK(table >= BASE && table < BASE + used * PAGE_SIZE);
        entry = &frames[(table - BASE) / PAGE_SIZE][va >> *shift & 511];
        if ((*entry & PAGING_PRESENT) == 0 || *shift == 12 || (*entry & PAGING_LARGE) != 0)
            return entry;
        table = *entry & PAGING_FRAME;
    }
}

static bool is_large(uint64_t va)
{
    unsigned shift;
    const uint64_t *entry = walk(va, &shift);

    return shift == 21 && (*entry & (PAGING_PRESENT | PAGING_LARGE)) == (PAGING_PRESENT | PAGING_LARGE);
}

/* The frame and rights that the hardware finds. */
static uint64_t translation(uint64_t va)
{
    unsigned shift;
    uint64_t entry = *walk(va, &shift);

    if ((entry & PAGING_PRESENT) == 0)
        return 0;
    return (entry & PAGING_FRAME & ~((1ull << shift) - 1)) | (va & ((1ull << shift) - 1) & ~(PAGE_SIZE - 1)) |
           (entry & RW);
}

static void touch(uint64_t va, uint64_t bits)
{
    unsigned shift;

    *walk(va, &shift) |= bits;
}

TEST(paging_large_alike,
     "512 entries for frames in order with equal rights become one large page that translates alike")
{
    begin();
    CHECK_EQ(paging_make_large(&tables, AT + 0x5123), 0);
    CHECK(is_large(AT) && is_large(AT + PAGING_SIZE_2M - 1));
    CHECK_EQ(paging_large(&tables, AT + 0x1000), BLOCK | RW | PAGING_LARGE);
    CHECK(paging_deposit(&tables, AT) != 0);
    for (uint32_t i = 0; i < ENTRIES; i++)
        CHECK_EQ(translation(AT + i * PAGE_SIZE), (BLOCK + i * PAGE_SIZE) | RW);
    CHECK_EQ(paging_make_large(&tables, AT), -EINVAL); /* it has no table any more */
}

TEST(paging_large_unlike,
     "entries that are not alike, not in order, misaligned, executable or not present stay a table")
{
    static const struct {
        uint32_t index;
        uint64_t flip;
    } cases[] = {
        {0, PAGING_PRESENT}, {511, PAGING_PRESENT},  {7, PAGING_WRITE},
        {8, PAGING_USER},    {9, PAGING_NO_EXECUTE}, {3, PAGE_SIZE},
        {0, PAGE_SIZE},      {511, PAGING_SIZE_1G},  {100, PAGING_UNCACHED},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        begin();
        *paging_entry(&tables, AT + cases[i].index * PAGE_SIZE, false) ^= cases[i].flip;
        CHECK_EQ(paging_make_large(&tables, AT), -EINVAL);
        CHECK(!is_large(AT));
        CHECK_EQ(paging_large(&tables, AT), 0);
    }
    fill(AT, RW & ~PAGING_NO_EXECUTE);
    CHECK_EQ(paging_make_large(&tables, AT), -EINVAL);
    begin();
    for (uint32_t i = 0; i < ENTRIES; i++)
        *paging_entry(&tables, AT + i * PAGE_SIZE, false) += PAGE_SIZE;
    CHECK_EQ(paging_make_large(&tables, AT), -EINVAL);
    CHECK_EQ(paging_make_large(&tables, AT + PAGING_SIZE_2M), -EINVAL);
    CHECK_EQ(paging_make_large(&tables, AT + PAGING_SIZE_1G), -EINVAL);
}

TEST(paging_large_no_frames, "without frames to keep the table aside with nothing changes, until there are some")
{
    begin();
    for (uint32_t more = 0; more < 3; more++) {
        limit = used;
        limit += more > 0;
        CHECK_EQ(paging_make_large(&tables, AT), -ENOMEM);
        CHECK(!is_large(AT) && translation(AT) == (BLOCK | RW));
    }
    limit = FRAMES;
    CHECK_EQ(paging_make_large(&tables, AT), 0);
    CHECK(is_large(AT));
}

TEST(paging_large_entry, "an entry that may be changed is had from the table, which is back and knows what was used")
{
    uint64_t *entry;

    begin();
    CHECK_EQ(paging_make_large(&tables, AT), 0);
    touch(AT + 0x9000, PAGING_ACCESSED | PAGING_DIRTY);
    entry = paging_entry(&tables, AT + 0x9000, false);
    CHECK(!is_large(AT));
    CHECK_EQ(paging_deposit(&tables, AT), 0);
    CHECK_EQ(*entry, (BLOCK + 0x9000) | RW | PAGING_SOFT_OWNING | PAGING_ACCESSED | PAGING_DIRTY);
    CHECK_EQ(entry[-9], BLOCK | RW | PAGING_SOFT_OWNING | PAGING_ACCESSED | PAGING_DIRTY);
    *entry = 0;
    CHECK_EQ(translation(AT + 0x9000), 0);
    CHECK_EQ(translation(AT + 0xa000), (BLOCK + 0xa000) | RW);
}

TEST(paging_large_look, "a look finds the same entry, and the large page stays")
{
    const uint64_t *before;
    uint64_t va = 0;

    begin();
    CHECK(paging_look(&tables, AT + PAGING_SIZE_2M) == NULL);
    CHECK(paging_look(&tables, AT + PAGING_SIZE_1G) == NULL);
    before = paging_look(&tables, AT + 0x3000);
    CHECK(before == paging_entry(&tables, AT + 0x3000, false));
    CHECK_EQ(paging_make_large(&tables, AT), 0);
    CHECK(paging_look(&tables, AT + 0x3000) == before);
    CHECK(paging_next_leaf_look(&tables, &va, END) == before - 3);
    CHECK_EQ(va, AT);
    CHECK(is_large(AT));
    CHECK(paging_next_leaf(&tables, &va, END) == before - 3);
    CHECK(!is_large(AT));
    CHECK_EQ(paging_map(&tables, PAGING_SIZE_1G * 9, 0, PAGING_SIZE_2M, RW, PAGING_SIZE_2M), 0);
    CHECK(paging_look(&tables, PAGING_SIZE_1G * 9) == NULL); /* one that was mapped as such */
}

static uint32_t seen;

static void protect(void *context, uint64_t va, uint64_t *entry, uint64_t size)
{
    CHECK_EQ(size, PAGE_SIZE);
    CHECK_EQ((va - AT) / PAGE_SIZE, seen);
    CHECK((*entry & PAGING_ACCESSED) != 0);
    *entry &= ~*(const uint64_t *)context;
    seen++;
}

TEST(paging_large_visit, "what is visited whole and stays alike stays large; else its table is back")
{
    uint64_t clear = PAGING_WRITE;

    begin();
    CHECK_EQ(paging_make_large(&tables, AT), 0);
    touch(AT, PAGING_ACCESSED);
    seen = 0;
    paging_visit(&tables, 0, END, protect, &clear);
    CHECK_EQ(seen, ENTRIES);
    CHECK(is_large(AT) && translation(AT + 0x1000) == ((BLOCK + 0x1000) | (RW & ~PAGING_WRITE)));
    CHECK_EQ(*paging_look(&tables, AT), BLOCK | (RW & ~PAGING_WRITE) | PAGING_SOFT_OWNING | PAGING_ACCESSED);

    clear = PAGING_NO_EXECUTE;
    seen = 0;
    paging_visit(&tables, AT, AT + PAGING_SIZE_2M - PAGE_SIZE, protect, &clear);
    CHECK_EQ(seen, ENTRIES - 1);
    CHECK(!is_large(AT) && translation(AT) == (BLOCK | PAGING_PRESENT | PAGING_USER));

    begin();
    CHECK_EQ(paging_make_large(&tables, AT), 0);
    touch(AT, PAGING_ACCESSED);
    clear = ~0ull;
    seen = 0;
    paging_visit(&tables, AT, AT + PAGING_SIZE_2M, protect, &clear);
    CHECK_EQ(seen, ENTRIES);
    CHECK(!is_large(AT) && translation(AT) == 0 && paging_deposit(&tables, AT) == 0);
    CHECK_EQ(paging_next_used(paging_look(&tables, AT), 0, ENTRIES), ENTRIES); /* none has become used */
}

static uint32_t ended[FRAMES], leaves;

static void end_leaf(void *context, uint64_t *entries)
{
    (void)context;
    for (uint32_t i = 0; i < ENTRIES; i++)
        leaves += entries[i] != 0;
}

static void end_table(void *context, uint64_t frame)
{
    (void)context;
    CHECK(frame >= BASE && frame < BASE + used * PAGE_SIZE);
    ended[(frame - BASE) / PAGE_SIZE]++;
    memset(frames[(frame - BASE) / PAGE_SIZE], 0xff, PAGE_SIZE);
}

TEST(paging_large_release, "a release hands out every table once, those kept aside too, and what keeps them")
{
    const struct paging_release with = {end_leaf, end_table, NULL};

    begin();
    fill(AT + PAGING_SIZE_2M, RW);
    fill(AT + PAGING_SIZE_1G, RW);
    fill(5ull << 39, RW);
    CHECK_EQ(paging_make_large(&tables, AT), 0);
    CHECK_EQ(paging_make_large(&tables, AT + PAGING_SIZE_2M), 0);
    CHECK_EQ(paging_make_large(&tables, 5ull << 39), 0);
    CHECK(paging_entry(&tables, AT + PAGING_SIZE_2M, false) != NULL);
    memset(ended, 0, sizeof(ended));
    leaves = 0;
    paging_release(&tables, 0, 1ull << 39, &with);
    CHECK_EQ(leaves, 3 * ENTRIES);
    CHECK(is_large(5ull << 39) && paging_look(&tables, 5ull << 39) != NULL);
    paging_release(&tables, 0, END, &with);
    CHECK_EQ(leaves, 4 * ENTRIES);
    CHECK_EQ(tables.deposits, 0);
    for (uint32_t i = 0; i < used; i++)
        CHECK_EQ(ended[i], i != (tables.root - BASE) / PAGE_SIZE);
}

static uint64_t random_state = 1;

static uint32_t random_below(uint32_t end)
{
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(random_state >> 33) % end;
}

static uint64_t model[3 * ENTRIES];

static void flip(void *context, uint64_t va, uint64_t *entry, uint64_t size)
{
    uint64_t index = (va - AT) / PAGE_SIZE;

    CHECK(size == PAGE_SIZE && index < 3 * ENTRIES);
    CHECK_EQ(*entry & ~(PAGING_ACCESSED | PAGING_DIRTY), model[index]);
    *entry ^= *(const uint64_t *)context;
    model[index] ^= *(const uint64_t *)context;
}

TEST(paging_large_random, "whatever is made large, visited, changed or looked at, the hardware finds what was written")
{
    static const uint64_t flips[] = {PAGING_WRITE, PAGING_SOFT_COW, PAGING_NO_EXECUTE, PAGING_PRESENT};
    uint32_t larges = 0;

    begin();
    fill(AT + PAGING_SIZE_2M, RW);
    fill(AT + 2 * PAGING_SIZE_2M, RW);
    for (uint32_t i = 0; i < 3 * ENTRIES; i++)
        model[i] = *paging_look(&tables, AT + i * PAGE_SIZE);
    for (uint32_t step = 0; step < 3000; step++) {
        uint32_t a = random_below(3 * ENTRIES), b = a + 1 + random_below(3 * ENTRIES - a);
        uint64_t change = flips[random_below(4)];

        if (random_below(2) == 0) {
            a &= ~511u;
            b = (b + 511) & ~511u;
        }
        switch (random_below(5)) {
        case 0:
            larges += paging_make_large(&tables, AT + a * PAGE_SIZE) == 0;
            break;
        case 1:
            *paging_entry(&tables, AT + a * PAGE_SIZE, true) ^= change;
            model[a] ^= change;
            break;
        case 2:
            touch(AT + a * PAGE_SIZE, PAGING_ACCESSED);
            break;
        default:
            paging_visit(&tables, AT + a * PAGE_SIZE, AT + b * PAGE_SIZE, flip, &change);
            paging_visit(&tables, AT + a * PAGE_SIZE, AT + b * PAGE_SIZE, flip, &change);
            break;
        }
        if (step % 50 == 0) { /* alike again, so that there is something to make large */
            for (uint32_t i = 0; i < 3 * ENTRIES; i++)
                *paging_entry(&tables, AT + i * PAGE_SIZE, true) = model[i] = (BLOCK + i % ENTRIES * PAGE_SIZE) | RW;
        }
        for (uint32_t i = 0; i < 3 * ENTRIES; i++) {
            CHECK_EQ(*paging_look(&tables, AT + i * PAGE_SIZE) & ~(PAGING_ACCESSED | PAGING_DIRTY), model[i]);
            CHECK_EQ(translation(AT + i * PAGE_SIZE),
                     (model[i] & PAGING_PRESENT) != 0 ? model[i] & (PAGING_FRAME | RW) : 0);
        }
    }
    CHECK(larges > 20);
}

static void same(void *context, uint64_t va, uint64_t *entry, uint64_t size)
{
    (void)context;
    (void)va;
    (void)entry;
    CHECK_EQ(size, PAGE_SIZE);
}

TEST(large_hidden, "a large page that is hidden is not present and otherwise the same; being shown or changed shows it")
{
    uint64_t at = 0;

    begin();
    CHECK(!paging_large_hide(&tables, AT) && !paging_large_show(&tables, AT));
    CHECK_EQ(paging_make_large(&tables, AT), 0);
    CHECK(!paging_large_show(&tables, AT) && paging_large_hide(&tables, AT) && !paging_large_hide(&tables, AT));
    CHECK_EQ(translation(AT + 5 * PAGE_SIZE), 0);
    CHECK(paging_large(&tables, AT) != 0 && !is_large(AT));
    CHECK_EQ(*paging_look(&tables, AT + 5 * PAGE_SIZE), (BLOCK + 5 * PAGE_SIZE) | RW | PAGING_SOFT_OWNING);
    CHECK(paging_next_leaf_look(&tables, &at, END) != NULL && at == AT && translation(AT) == 0);
    CHECK(paging_large_show(&tables, AT) && is_large(AT));
    CHECK_EQ(translation(AT + 5 * PAGE_SIZE), (BLOCK + 5 * PAGE_SIZE) | RW);
    CHECK(paging_large_hide(&tables, AT));
    paging_visit(&tables, AT, AT + PAGING_SIZE_2M, same, NULL);
    CHECK(is_large(AT));
    CHECK(paging_large_hide(&tables, AT));
    *paging_entry(&tables, AT + 5 * PAGE_SIZE, false) = 0;
    for (uint64_t i = 0; i < ENTRIES; i++)
        CHECK_EQ(translation(AT + i * PAGE_SIZE), i == 5 ? 0 : (BLOCK + i * PAGE_SIZE) | RW);
    CHECK_EQ(paging_large(&tables, AT), 0);
}
