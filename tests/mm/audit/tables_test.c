/* The audit of one kernel's page tables, on tables in host memory.
 * sources: mm/audit/tables.c mm/audit/report.c mm/directory/sharers.c kernel/arch/x86_64/paging.c
 * sources: kernel/arch/x86_64/paging_large.c */
#include "mm/audit/tables.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "kernel/abi/limits.h"
#include "tests/stand_in/heap.h"
#include "tests/test.h"

#define OWN 0x10000000ull /* physical memory of kernel 3: what the arena plays */
#define ARENA (4ull << 20)
#define OTHER 0x20000000ull /* of kernel 5 */
#define DEVICE 0xfee00000ull
#define DIRECT 0xffff888000000000ull
#define WINDOWS 0xffffc90000000000ull
#define IMAGE_VA 0xffffffff80100000ull
#define IMAGE (OWN + 0x300000)
#define IMAGE_SIZE 0x8000ull
#define TEXT_SIZE 0x4000ull
#define ROOM 8192u
#define DATA (PAGING_WRITE | PAGING_NO_EXECUTE)

static uint8_t *arena;
static uint64_t next_frame;
static uint64_t space_frame; /* one that some space has: no table */
static struct page_tables kernel, user;
static struct audit_report *report;
static struct sharers owners; /* of the program */

static uint32_t owner(uint64_t pa, uint64_t size)
{
    if (pa >= OWN && pa + size <= OWN + ARENA)
        return 3;
    if (pa >= OTHER && pa + size <= OTHER + ARENA)
        return 5;
    return pa + size <= OWN || pa >= OTHER + ARENA || (pa >= OWN + ARENA && pa + size <= OTHER) ? KERNELS_MAX
                                                                                                : AUDIT_MIXED;
}

static bool own_use(uint64_t frame)
{
    return frame != space_frame;
}

static void no_pause(void)
{
}

static bool may_map(uint64_t va, uint64_t pa, bool write)
{
    return (va >= WINDOWS && va < WINDOWS + 0x100000 && pa == DEVICE) ||
           (va == WINDOWS + 0x200000 && pa == OTHER && !write) ||
           (va - IMAGE_VA < TEXT_SIZE && pa == OTHER + (va - IMAGE_VA) && !write);
}

static struct audit_world world = {.kernel = 3,
                                   .owner = owner,
                                   .own_use = own_use,
                                   .may_map = may_map,
                                   .pause = no_pause,
                                   .image = IMAGE,
                                   .image_end = IMAGE + IMAGE_SIZE,
                                   .image_va = IMAGE_VA,
                                   .direct = DIRECT,
                                   .direct_end = WINDOWS};

static uint64_t new_frame(void *context)
{
    uint64_t frame = next_frame;

    (void)context;
    next_frame += PAGE_SIZE;
    CHECK(next_frame <= OWN + 0x200000);
    return frame;
}

static void map(const struct page_tables *tables, uint64_t va, uint64_t pa, uint64_t size, uint64_t flags,
                uint64_t largest)
{
    CHECK_EQ(paging_map(tables, va, pa, size, flags, largest), 0);
}

/* Tables as a kernel has them, and those of one program. */
static void begin(void)
{
    if (arena == NULL)
        arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(arena != MAP_FAILED);
    memset(arena, 0, 0x200000);
    free(report);
    report = calloc(1, sizeof(*report) + ROOM);
    report->room = ROOM;
    next_frame = OWN;
    space_frame = 0;
    kernel = (struct page_tables){.delta = (uint64_t)arena - OWN, .alloc = new_frame};
    kernel.root = new_frame(NULL);
    map(&kernel, IMAGE_VA, IMAGE, 0x4000, 0, PAGE_SIZE);
    map(&kernel, IMAGE_VA + 0x4000, IMAGE + 0x4000, 0x4000, DATA, PAGE_SIZE);
    map(&kernel, DIRECT + OWN, OWN, 0x200000, DATA, PAGING_SIZE_2M);
    map(&kernel, DIRECT + OWN + 0x200000, OWN + 0x200000, 0x100000, DATA, PAGING_SIZE_2M);
    map(&kernel, WINDOWS, DEVICE, PAGE_SIZE, DATA | PAGING_UNCACHED, PAGE_SIZE);
    map(&kernel, WINDOWS + 0x200000, OTHER, PAGE_SIZE, PAGING_NO_EXECUTE, PAGE_SIZE);
    map(&kernel, WINDOWS + 0x400000, OWN + 0x210000, PAGE_SIZE, DATA, PAGE_SIZE); /* a stack */
    user = kernel;
    user.root = new_frame(NULL);
    memcpy((uint8_t *)user.root + user.delta + PAGE_SIZE / 2, (uint8_t *)kernel.root + kernel.delta + PAGE_SIZE / 2,
           PAGE_SIZE / 2);
    map(&user, 0x400000, OWN + 0x220000, PAGE_SIZE, PAGING_USER | PAGING_NO_EXECUTE, PAGE_SIZE);
    map(&user, 0x7ff000000000, OTHER, PAGE_SIZE, PAGING_USER | DATA | PAGING_SOFT_REMOTE, PAGE_SIZE);
    sharers_end(&owners);
    owners_note(&owners, 0x7ff000000000, 5);
}

static void expect(uint64_t count, const char *begin)
{
    const char *line = report->text;

    audit_kernel_tables(&world, &kernel, report);
    audit_space_tables(&world, &user, &owners, kernel.root, 9, report);
    report->text[report->length] = '\0';
    if (report->counts.violations != count)
        printf("# %s", report->text);
    CHECK_EQ(report->counts.violations, count);
    for (; *line != '\0'; line = strchr(line, '\n') + 1)
        CHECK(strncmp(line, begin, strlen(begin)) == 0);
}

TEST(tables_good, "a kernel that maps its image, its memory, channels and devices, and frames for programs, is clean")
{
    begin();
    expect(0, "");
}

TEST(tables_foreign, "another kernel's memory is found wherever the kernel maps it, in whole or in part")
{
    begin();
    map(&kernel, DIRECT + OTHER, OTHER, PAGE_SIZE, DATA, PAGE_SIZE);
    expect(1, "own memory");
    begin();
    map(&kernel, WINDOWS + 0x200000, OTHER, PAGE_SIZE, DATA, PAGE_SIZE); /* a channel's page for reading */
    expect(1, "own memory");
    begin();
    map(&kernel, WINDOWS + 0x201000, OTHER + PAGE_SIZE, PAGE_SIZE, PAGING_NO_EXECUTE, PAGE_SIZE);
    expect(1, "own memory");
    begin();
    map(&kernel, DIRECT + (1ull << 30), 1ull << 30, PAGING_SIZE_1G, DATA, PAGING_SIZE_1G); /* nobody's */
    expect(1, "own memory");
    begin();
    map(&kernel, DIRECT + 0x1fe00000 - 0x200000, 0x1fe00000 - 0x200000, PAGING_SIZE_2M, DATA, PAGING_SIZE_2M);
    expect(1, "own memory");
    begin();
    map(&kernel, DIRECT, 0, PAGING_SIZE_1G, DATA, PAGING_SIZE_1G); /* takes the place of what was there */
    expect(1, "own memory");
}

TEST(tables_owners, "a program's frames of another kernel are noted for their block")
{
    begin();
    map(&user, 0x7ff000000000 + SHARERS_BLOCK - PAGE_SIZE, OTHER + PAGE_SIZE, PAGE_SIZE,
        PAGING_USER | DATA | PAGING_SOFT_REMOTE, PAGE_SIZE);
    expect(0, "");
    map(&user, 0x7ff000000000 + SHARERS_BLOCK, OTHER + PAGE_SIZE, PAGE_SIZE, PAGING_USER | DATA | PAGING_SOFT_REMOTE,
        PAGE_SIZE);
    expect(1, "whose memory");
    owners_note(&owners, 0x7ff000000000 + SHARERS_BLOCK, 6);
    expect(2, "whose memory"); /* the counts add up */
    owners_note(&owners, 0x7ff000000000 + SHARERS_BLOCK, 5);
    expect(2, "whose memory");
    begin();
    owners_forget(&owners, 5);
    expect(1, "whose memory");
    sharers_mark_all(&owners, 1ull << 5);
    expect(1, "whose memory");
}

TEST(tables_image, "the image has no other mapping than its own, and direct memory lies at its address")
{
    begin();
    map(&kernel, DIRECT + IMAGE, IMAGE, PAGE_SIZE, DATA, PAGE_SIZE);
    expect(1, "own memory");
    begin();
    map(&kernel, IMAGE_VA, IMAGE + PAGE_SIZE, PAGE_SIZE, 0, PAGE_SIZE);
    expect(1, "own memory");
    begin();
    map(&kernel, IMAGE_VA + 0x7000, OWN + 0x220000, PAGE_SIZE, DATA, PAGE_SIZE);
    expect(1, "own memory");
    begin();
    map(&kernel, DIRECT + OWN + 0x200000, OWN + 0x201000, PAGE_SIZE, DATA, PAGE_SIZE);
    expect(1, "own memory");
}

/* The kernel runs the text of another: its own image begins behind it. */
static void expect_shared(uint64_t count)
{
    const struct audit_world usual = world;

    world.image += TEXT_SIZE;
    world.image_va += TEXT_SIZE;
    world.text_va = IMAGE_VA;
    world.text_size = TEXT_SIZE;
    expect(count, "own memory");
    world = usual;
}

TEST(tables_text, "another kernel's text may be mapped where text is, to read, and nothing else there")
{
    begin();
    map(&kernel, IMAGE_VA, OTHER, TEXT_SIZE, 0, PAGE_SIZE);
    map(&kernel, DIRECT + IMAGE, IMAGE, TEXT_SIZE, DATA, PAGE_SIZE); /* what would be its own */
    expect_shared(0);
    map(&kernel, IMAGE_VA, OTHER, PAGE_SIZE, DATA, PAGE_SIZE);
    expect_shared(1);
    map(&kernel, IMAGE_VA, OTHER + PAGE_SIZE, PAGE_SIZE, 0, PAGE_SIZE);
    expect_shared(2); /* the counts add up */
    begin();
    map(&kernel, IMAGE_VA, IMAGE, TEXT_SIZE, 0, PAGE_SIZE);
    expect_shared(4);
    begin();
    map(&kernel, IMAGE_VA + TEXT_SIZE, OTHER + TEXT_SIZE, PAGE_SIZE, 0, PAGE_SIZE);
    expect_shared(5); /* the four pages of text, and one behind them */
}

TEST(tables_rights, "kernel memory that programs may touch, and code that may be written, are found")
{
    begin();
    map(&kernel, DIRECT + OWN + 0x200000, OWN + 0x200000, PAGE_SIZE, DATA | PAGING_USER, PAGE_SIZE);
    map(&kernel, IMAGE_VA, IMAGE, PAGE_SIZE, PAGING_WRITE, PAGE_SIZE);
    expect(2, "page tables");
}

TEST(tables_halves, "the kernel's tables map nothing below, and a program's have the kernel's upper half")
{
    begin();
    map(&kernel, 0x400000, OWN + 0x220000, PAGE_SIZE, PAGING_USER | PAGING_NO_EXECUTE, PAGE_SIZE);
    expect(1, "page tables");
    begin();
    map(&user, 0xffffa00000000000ull, OWN + 0x220000, PAGE_SIZE, DATA, PAGE_SIZE);
    expect(1, "page tables");
}

TEST(tables_user, "large pages, global entries, entries that programs cannot use and nobody's memory are found")
{
    begin();
    map(&user, 0x40000000, OWN, PAGING_SIZE_2M, PAGING_USER | DATA, PAGING_SIZE_2M);
    map(&user, 0x400000, OWN + 0x220000, PAGE_SIZE, PAGING_USER | DATA | PAGING_GLOBAL, PAGE_SIZE);
    map(&user, 0x401000, OWN + 0x221000, PAGE_SIZE, DATA, PAGE_SIZE);
    expect(3, "page tables");
    begin();
    map(&user, 0x400000, DEVICE, PAGE_SIZE, PAGING_USER | DATA, PAGE_SIZE);
    expect(1, "own memory");
}

TEST(tables_large, "a large page whose table is kept aside is right, and found when it says something else than that")
{
    static const uint64_t wrong[] = {PAGING_SIZE_2M, PAGING_WRITE, PAGING_NO_EXECUTE, PAGING_GLOBAL};
    uint64_t *entry;

    for (size_t i = 0; i <= sizeof(wrong) / sizeof(wrong[0]); i++) {
        begin();
        map(&user, 0x40000000, OTHER, PAGING_SIZE_2M, PAGING_USER | DATA, PAGE_SIZE);
        CHECK_EQ(paging_make_large(&user, 0x40000000), 0);
        if (i == 0) {
            expect(1, "whose memory");
            begin();
            continue;
        }
        owners_note(&owners, 0x40000000, 5);
        expect(0, "");
        entry = (uint64_t *)(user.root + user.delta);
        for (int level = 0; level < 2; level++)
            entry = (uint64_t *)((entry[level == 0 ? 0 : 1] & PAGING_FRAME) + user.delta);
        *entry ^= wrong[i - 1];
        expect(1, "page tables");
    }
}

TEST(tables_frames, "a table in memory of others, or that a program has, is found and not followed")
{
    begin();
    *paging_entry(&user, 0x400000, true) = 0;
    ((uint64_t *)(user.root + user.delta))[5] = OTHER | PAGING_PRESENT | PAGING_WRITE | PAGING_USER;
    expect(1, "page tables");
    begin();
    space_frame = next_frame;
    map(&user, 0x10000000000, OWN + 0x220000, PAGE_SIZE, PAGING_USER | DATA, PAGE_SIZE);
    expect(1, "page tables");
    begin();
    space_frame = user.root;
    expect(1, "page tables");
    begin();
    ((uint64_t *)(kernel.root + kernel.delta))[300] = OTHER | PAGING_PRESENT | PAGING_WRITE;
    ((uint64_t *)(user.root + user.delta))[300] = OTHER | PAGING_PRESENT | PAGING_WRITE;
    expect(1, "page tables");
}
