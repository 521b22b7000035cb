/* The rules of an audit, each kept and each broken.
 * sources: mm/audit/check.c mm/audit/report.c */
#include "mm/audit/check.h"

#include <stdlib.h>

#include "kernel/abi/limits.h"
#include "kernel/arch/x86_64/paging.h"
#include "mm/area/area.h"
#include "mm/frame/abroad.h"
#include "tests/test.h"

#define BASE 0x40000000ull
#define RW (AREA_READ | AREA_WRITE)
#define RX (AREA_READ | AREA_EXEC)
#define ROOM 8192u
#define HOME 1u
/* Kernel k's memory: from OWN(k) on, 16 MiB. */
#define OWN(k) (((uint64_t)(k) + 1) << 24)

#define USER_RW (PAGING_PRESENT | PAGING_USER | PAGING_WRITE | PAGING_NO_EXECUTE)
#define USER_RO (PAGING_PRESENT | PAGING_USER | PAGING_NO_EXECUTE)
#define USER_RX (PAGING_PRESENT | PAGING_USER)
#define OWNING PAGING_SOFT_OWNING
#define REMOTE PAGING_SOFT_REMOTE
#define COW PAGING_SOFT_COW
#define PENDING_FREE PAGING_SOFT_PENDING_FREE
#define REPLICATED PAGING_SOFT_REPLICATED
#define REPLICA PAGING_SOFT_REPLICA

static struct audit_check *check;
static struct audit_report *report;
static uint32_t spaces_answer;

static uint32_t owner(uint64_t frame)
{
    return frame >= OWN(0) && frame < OWN(4) ? (uint32_t)(frame >> 24) - 1 : KERNELS_MAX;
}

static uint32_t spaces(uint64_t frame)
{
    (void)frame;
    return spaces_answer;
}

static void begin(void)
{
    free(check);
    free(report);
    check = calloc(1, sizeof(*check));
    report = calloc(1, sizeof(*report) + ROOM);
    report->room = ROOM;
    *check = (struct audit_check){
        .report = report, .space = 77, .home = HOME, .home_knows = true, .owner = owner, .spaces = spaces};
    spaces_answer = 1;
    audit_check_begin(check, BASE);
}

/* Page NUMBER of KERNEL has ENTRY in an area with PROT. */
static void page(uint32_t kernel, uint32_t number, uint64_t entry, uint32_t prot)
{
    struct audit_run run = {BASE + number * PAGE_SIZE, entry, 1, prot};

    audit_check_run(check, kernel, &run);
}

/* The report has COUNT violations, all of the rule that BEGIN begins. */
static void expect(uint64_t count, const char *begin)
{
    const char *line = report->text;

    report->text[report->length] = '\0';
    if (report->counts.violations != count)
        printf("# %s", report->text);
    CHECK_EQ(report->counts.violations, count);
    for (; *line != '\0'; line = strchr(line, '\n') + 1) {
        if (strncmp(line, begin, strlen(begin)) != 0)
            printf("# %s", line);
        CHECK(strncmp(line, begin, strlen(begin)) == 0);
    }
}

static void clean(void)
{
    audit_check_end(check);
    expect(0, "");
}

static void found(uint64_t count, const char *rule)
{
    audit_check_end(check);
    expect(count, rule);
}

TEST(entries_agree, "an owned page, borrowed elsewhere, with the rights of its area, is as it should be")
{
    begin();
    page(HOME, 0, OWN(2) | USER_RW | REMOTE, RW);
    page(2, 0, OWN(2) | USER_RW | OWNING, RW);
    page(3, 0, OWN(2) | USER_RW | REMOTE, RW);
    page(HOME, 1, OWN(1) | USER_RX | OWNING, RX);
    page(HOME, 2, OWN(3) | OWNING | REMOTE, 0); /* no rights: not present */
    page(HOME, 3, (OWN(1) + PAGE_SIZE) | USER_RW | OWNING, AREA_WRITE);
    page(HOME, AUDIT_PAGES - 1, OWN(0) | USER_RO | OWNING | REMOTE | COW, RW);
    clean();
    CHECK_EQ(report->counts.pages, 5);
    CHECK_EQ(report->counts.entries, 7);
}

TEST(one_frame, "two frames for one page are found on whichever kernel, and a page that is missing is no frame")
{
    begin();
    page(HOME, 0, OWN(1) | USER_RW | OWNING, RW);
    page(2, 0, (OWN(1) + PAGE_SIZE) | USER_RW | REMOTE, RW);
    found(1, "R1 one frame");
    begin();
    page(HOME, 0, OWN(2) | USER_RW | REMOTE, RW);
    page(2, 0, OWN(2) | USER_RW | OWNING, RW);
    page(3, 0, (OWN(2) + PAGE_SIZE) | USER_RW | REMOTE, RW);
    found(1, "R1 one frame");
    begin();
    page(HOME, 0, OWN(1) | USER_RW | OWNING, RW);
    page(2, 1, OWN(1) | USER_RW | REMOTE, RW); /* another page: that home does not have it is the matter */
    page(HOME, 1, OWN(1) | USER_RW | OWNING, RW);
    clean();
}

TEST(runs, "a run stands for each of its pages")
{
    struct audit_run run = {BASE + 5 * PAGE_SIZE, OWN(1) | USER_RW | OWNING, 100, RW};

    begin();
    audit_check_run(check, HOME, &run);
    page(2, 104, (OWN(1) + 99 * PAGE_SIZE) | USER_RW | REMOTE, RW);
    clean();
    CHECK_EQ(report->counts.pages, 100);
    begin();
    audit_check_run(check, HOME, &run);
    page(2, 104, (OWN(1) + 98 * PAGE_SIZE) | USER_RW | REMOTE, RW);
    found(1, "R1 one frame");
}

TEST(protection, "an entry has the rights of its area, no more and no less, and nothing that programs do not get")
{
    static const struct {
        uint64_t entry;
        uint32_t prot;
        bool good;
    } cases[] = {
        {USER_RW, RW, true},
        {USER_RW, AREA_READ, false},
        {USER_RO, RW, false},
        {USER_RO, AREA_READ, true},
        {USER_RX, AREA_READ, false},
        {USER_RX, RX, true},
        {USER_RO, RX, false},
        {USER_RW & ~PAGING_NO_EXECUTE, RW | AREA_EXEC, true},
        {USER_RW & ~PAGING_USER, RW, false},
        {USER_RW & ~PAGING_PRESENT, RW, false},
        {0, 0, true},
        {USER_RO, 0, false},
        {USER_RW | PAGING_GLOBAL, RW, false},
        {USER_RW | PAGING_LARGE, RW, false},
        {USER_RW | PAGING_UNCACHED, RW, false},
        {USER_RO | COW, RW, true},
        {USER_RW | COW, RW, false},
        {USER_RO | COW, AREA_READ, true},
        {COW, 0, true},
        {USER_RW, RW | AREA_SHARED, true},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        begin();
        page(HOME, 0, OWN(1) | OWNING | cases[i].entry, cases[i].prot);
        found(cases[i].good ? 0 : 1, "R2 protection");
    }
}

TEST(copy_on_write, "kernels differ in COW only while one space has the frame, and a shared page never is COW")
{
    for (uint32_t count = 0; count < 4; count++) {
        begin();
        spaces_answer = count;
        page(HOME, 0, OWN(1) | USER_RO | COW | OWNING, RW);
        page(2, 0, OWN(1) | USER_RW | REMOTE, RW);
        found(count != 1, "R4 copy-on-write");
    }
    begin();
    spaces_answer = 5;
    page(HOME, 0, OWN(1) | USER_RO | COW | OWNING, RW);
    page(2, 0, OWN(1) | USER_RO | COW | REMOTE, RW);
    page(HOME, 1, OWN(1) | USER_RW | OWNING, RW);
    clean();
    begin();
    page(HOME, 0, OWN(1) | USER_RO | COW | OWNING, RW | AREA_SHARED);
    found(1, "R4 copy-on-write");
}

/* The home's page, which kernel 2 maps and kernel 3 has a copy of; the argument: bits that are missing. */
static void replicated(uint64_t home, uint64_t lent, uint64_t copy)
{
    begin();
    page(HOME, 0, (OWN(HOME) | USER_RO | OWNING | COW | REPLICATED) & ~home, RW);
    page(2, 0, (OWN(HOME) | USER_RO | REMOTE | COW | REPLICATED) & ~lent, RW);
    page(3, 0, (OWN(3) | USER_RO | OWNING | COW | REPLICA) & ~copy, RW);
    audit_check_end(check);
}

TEST(copies, "a copy of a page is the kernel's own, the home has the page as replicated, and all who map it know that")
{
    replicated(0, 0, 0);
    expect(0, "");
    replicated(REPLICATED, 0, 0);
    expect(1, "R1 one frame");
    replicated(0, REPLICATED, 0);
    expect(1, "R4 copy-on-write");
    replicated(0, 0, OWNING);
    expect(1, "R1 one frame");
    replicated(0, 0, REPLICA); /* an ordinary entry with another frame, which is owned, too */
    CHECK(report->counts.violations > 1);
    begin();
    page(HOME, 0, OWN(HOME) | USER_RO | OWNING | COW | REPLICATED, RW);
    page(2, 0, OWN(HOME) | USER_RW | REMOTE, RW); /* it may write */
    audit_check_end(check);
    CHECK(report->counts.violations > 0);
    begin();
    page(HOME, 0, OWN(HOME) | USER_RW | OWNING | REPLICATED, RW); /* so may the home */
    audit_check_end(check);
    expect(1, "R4 copy-on-write");
    begin();
    page(3, 0, OWN(3) | USER_RO | OWNING | COW | REPLICA, RW); /* of nothing */
    audit_check_end(check);
    CHECK(report->counts.violations > 1);
}

TEST(owned_once, "exactly one entry of a page owns its frame")
{
    begin();
    page(HOME, 0, OWN(1) | USER_RW, RW);
    page(2, 0, OWN(1) | USER_RW | REMOTE, RW);
    found(1, "owned once");
    begin();
    page(HOME, 0, OWN(1) | USER_RW | OWNING, RW);
    page(2, 0, OWN(1) | USER_RW | REMOTE | OWNING, RW);
    found(1, "owned once");
}

TEST(home, "the home maps what any kernel maps, where the strategy wants it")
{
    begin();
    page(2, 0, OWN(2) | USER_RW | OWNING, RW);
    found(1, "known at home");
    begin();
    check->home_knows = false;
    page(2, 0, OWN(2) | USER_RW | OWNING, RW);
    clean();
}

TEST(pending_free, "an entry that is pending free is found, and is no second frame")
{
    begin();
    page(HOME, 0, OWN(1) | OWNING | PENDING_FREE, RW);
    page(2, 0, OWN(2) | OWNING | PENDING_FREE, AUDIT_NO_AREA);
    found(2, "no pending free");
}

TEST(remote_mark, "an entry is marked as remote exactly when its frame is another kernel's memory")
{
    begin();
    page(HOME, 0, OWN(1) | USER_RW | OWNING | REMOTE, RW);
    found(1, "remote mark");
    begin();
    page(HOME, 0, OWN(2) | USER_RW | OWNING, RW);
    found(1, "remote mark");
}

TEST(nobodys_frame, "a frame that is no kernel's memory is found")
{
    begin();
    page(HOME, 0, 0x1000 | USER_RW | OWNING | REMOTE, RW);
    page(HOME, 1, OWN(4) | USER_RW | OWNING, RW);
    found(2, "frame in use");
}

TEST(outside, "an entry where its kernel has no area is found")
{
    begin();
    page(HOME, 0, OWN(1) | USER_RW | OWNING, AUDIT_NO_AREA);
    found(1, "inside an area");
}

TEST(mark, "an entry and an area are found where the directory of the home has not their kernel")
{
    kernel_set marks[AUDIT_MARKS] = {1ull << 2, 1ull << 2 | 1ull << 3, 1ull << 3};

    begin();
    memcpy(check->marks, marks, sizeof(marks));
    page(HOME, 0, OWN(1) | USER_RW | OWNING, RW); /* the home itself needs no mark */
    page(2, 0, OWN(1) | USER_RW | REMOTE, RW);
    page(HOME, 16, (OWN(1) + PAGE_SIZE) | USER_RW | OWNING, RW);
    page(3, 16, (OWN(1) + PAGE_SIZE) | USER_RW | REMOTE, RW);
    audit_check_area_marks(check, 2, BASE, BASE + 2 * SHARERS_PART, marks);
    audit_check_area_marks(check, 3, BASE + 2 * SHARERS_PART - PAGE_SIZE, BASE + 3 * SHARERS_PART, marks + 1);
    clean();
    page(3, 0, OWN(1) | USER_RW | REMOTE, RW);
    found(1, "marked at home");
    begin();
    audit_check_area_marks(check, 2, BASE, BASE + 3 * SHARERS_PART, marks);
    found(1, "marked at home");
    begin();
    check->home_knows = false;
    audit_check_area_marks(check, 2, BASE, BASE + 3 * SHARERS_PART, marks);
    clean();
}

TEST(view_shape, "a run that is not of the window, and a page that is told twice, are found and harmless")
{
    static const struct audit_run wrong[] = {
        {BASE - PAGE_SIZE, OWN(1) | USER_RW | OWNING, 1, RW},
        {BASE + AUDIT_PAGES * PAGE_SIZE, OWN(1) | USER_RW | OWNING, 1, RW},
        {BASE + (AUDIT_PAGES - 1) * PAGE_SIZE, OWN(1) | USER_RW | OWNING, 2, RW},
        {BASE + 1, OWN(1) | USER_RW | OWNING, 1, RW},
        {BASE, OWN(1) | USER_RW | OWNING, 0, RW},
        {BASE, OWN(1) | USER_RW | OWNING, UINT32_MAX, RW},
    };

    begin();
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        audit_check_run(check, HOME, &wrong[i]);
    page(HOME, 3, OWN(1) | USER_RW | OWNING, RW);
    page(HOME, 3, OWN(1) | USER_RW | OWNING, RW);
    found(7, "order of a view");
}

/* --- areas --- */

#define FILE(page) ((9ull << BACKING_OBJECT_SHIFT) + (page))

static const struct msg_space_area home_list[] = {{0x10000, 0x20000, RX, 0},
                                                  {0x20000, 0x30000, RW, 0},
                                                  {0x40000, 0x50000, RW | AREA_SHARED, 0},
                                                  {0x60000, 0x70000, 0, 0},
                                                  {0x80000, 0x90000, RX, FILE(3)}};

static void areas(uint64_t start, uint64_t end, uint64_t prot)
{
    struct msg_space_area own = {start, end, prot, 0};

    audit_check_areas(check, 2, &own, 1, 0, 1 << 30);
}

static void home_areas(void)
{
    begin();
    audit_check_home_areas(check, home_list, 5, 0, 1 << 30);
}

TEST(areas_part, "areas that are parts of the home's, with the same bits, are as they should be")
{
    home_areas();
    audit_check_areas(check, 2, home_list, 5, 0, 1 << 30);
    areas(0x11000, 0x12000, RX);
    areas(0x20000, 0x2f000, RW);
    areas(0x4f000, 0x50000, RW | AREA_SHARED);
    areas(0x60000, 0x70000, 0);
    expect(0, "");
    CHECK_EQ(report->counts.areas, 14);
}

TEST(areas_unknown, "an area that the home does not have, in whole or in part, is found")
{
    static const uint64_t cases[][2] = {{0x1000, 0x2000},   {0xf000, 0x11000},  {0x2f000, 0x31000},
                                        {0x30000, 0x40000}, {0x6f000, 0x71000}, {0xa0000, 0xa1000}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        home_areas();
        areas(cases[i][0], cases[i][1],
              cases[i][0] < 0x20000   ? RX
              : cases[i][0] < 0x60000 ? RW
                                      : 0); /* the bits agree where there are any */
        expect(1, "R5 area");
    }
}

TEST(areas_bits, "another protection, and another backing, than the home's are found, each by its name")
{
    home_areas();
    areas(0x11000, 0x12000, RW);
    areas(0x60000, 0x61000, AREA_READ);
    areas(0x1f000, 0x21000, RX); /* its second page is the next area's */
    expect(3, "R2 protection");
    home_areas();
    areas(0x20000, 0x21000, RW | AREA_DONTFORK);
    expect(1, "R5 area");
    home_areas();
    areas(0x20000, 0x21000, RW | AREA_SHARED);
    areas(0x40000, 0x41000, RW);
    expect(2, "R3 backing");
}

TEST(areas_file, "an area of a file that is of other pages of it than at the home, or of no file, is found")
{
    static const struct msg_space_area part = {0x84000, 0x86000, RX, FILE(7)}, late = {0x84000, 0x86000, RX, FILE(8)};

    home_areas();
    audit_check_areas(check, 2, &part, 1, 0, 1 << 30);
    expect(0, "");
    audit_check_areas(check, 2, &late, 1, 0, 1 << 30);
    expect(1, "R3 backing");
    areas(0x80000, 0x81000, RX);
    expect(2, "R3 backing");
}

TEST(areas_shape, "areas out of order, empty, not of whole pages, outside the range or with unknown bits are found")
{
    static const struct msg_space_area wrong[][2] = {
        {{0x20000, 0x30000, RW, 0}, {0x10000, 0x11000, RX, 0}},
        {{0x20000, 0x21000, RW, 0}, {0x20000, 0x22000, RW, 0}},
        {{0x20000, 0x20000, RW, 0}, {0x21000, 0x22000, RW, 0}},
        {{0x20001, 0x21000, RW, 0}, {0x21000, 0x22000, RW, 0}},
        {{0x10000, 0x11000, RX, 0}, {0x20000, 0x20010, RW, 0}},
        {{0x20000, 0x21000, RW | 1ull << 32, 0}, {0x21000, 0x22000, RW, 0}},
        {{0, 0x11000, RX, 0}, {0x21000, 0x22000, RW, 0}},
        {{0x10000, 0x11000, RX, 0}, {0x2f000, 0x31000, RW, 0}}};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        home_areas();
        audit_check_areas(check, 2, wrong[i], 2, 0x10000, 0x30000);
        expect(1, "order of a view");
        begin();
        audit_check_home_areas(check, wrong[i], 2, 0x10000, 0x30000);
        expect(1, "order of a view");
    }
}

/* --- frames --- */

static void frame(struct audit_frame f)
{
    f.frame = OWN(1);
    audit_check_frame(report, 1, &f);
}

TEST(frames, "a frame is mapped only if a space has it, owned as often as its owner counts, and private ones by one")
{
    begin();
    frame((struct audit_frame){.free = true});
    frame((struct audit_frame){.free = false}); /* the kernel's own */
    frame((struct audit_frame){.spaces = 1, .owned = 1, .mapped = true, .exclusive = true});
    frame((struct audit_frame){.spaces = 3, .owned = 3, .mapped = true});
    expect(0, "");
    CHECK_EQ(report->counts.frames, 2);
    begin();
    frame((struct audit_frame){.mapped = true, .free = true});
    frame((struct audit_frame){.mapped = true, .free = false});
    expect(2, "frame in use");
    begin();
    frame((struct audit_frame){.spaces = 2, .owned = 1, .mapped = true});
    frame((struct audit_frame){.spaces = 1, .owned = 2, .mapped = true});
    frame((struct audit_frame){.spaces = 1}); /* nobody has it: lost */
    expect(3, "count of a frame");
    begin();
    frame((struct audit_frame){.spaces = 3, .owned = 3, .abroad = 2, .theirs = 2, .mapped = true});
    frame((struct audit_frame){.spaces = 3, .owned = 3, .abroad = ABROAD_UNKNOWN, .theirs = 2, .mapped = true});
    expect(0, "");
    frame((struct audit_frame){.spaces = 3, .owned = 3, .abroad = 3, .theirs = 2, .mapped = true});
    frame((struct audit_frame){.spaces = 3, .owned = 3, .abroad = 1, .theirs = 2, .mapped = true});
    expect(2, "references abroad");
    begin();
    frame((struct audit_frame){.spaces = 2, .owned = 2, .mapped = true, .exclusive = true});
    expect(1, "private frame");
}

/* --- the report --- */

TEST(report_room, "what has no room is counted, and only whole lines are told")
{
    struct audit_report *whole = calloc(1, sizeof(*whole) + ROOM);

    begin();
    report->room = 200;
    for (int i = 0; i < 100; i++)
        audit_violation(report, AUDIT_FRAME, "number %d", i);
    CHECK_EQ(report->counts.violations, 100);
    CHECK(report->length <= 200 && report->length > 150 && report->text[report->length - 1] == '\n');
    CHECK_EQ(report->counts.notified, report->length / strlen("R1 one frame: number 0\n"));
    whole->room = 100;
    whole->counts.violations = 1;
    audit_report_add(whole, report);
    CHECK_EQ(whole->counts.violations, 101);
    CHECK_EQ(whole->counts.notified, 100 / strlen("R1 one frame: number 0\n"));
    CHECK(whole->text[whole->length - 1] == '\n');
    begin();
    audit_violation(report, AUDIT_SPACE, "%500d", 1); /* longer than a line */
    CHECK_EQ(report->counts.notified, 1);
    CHECK(report->text[report->length - 1] == '\n');
    free(whole);
}
