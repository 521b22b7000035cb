/* Areas with files behind them: what is cut, joined and changed keeps to its place in the file.
 * sources: mm/area/area.c mm/area/tree.c mm/area/backing.c */
#define PAGES 64u
#include "tests/mm/area/model.h"

#define FILE_PAGE(page) backing_make(3, 77, (page))

static void expect(uint64_t start, uint64_t end, uint32_t prot, uint64_t backing)
{
    const struct area *area = area_find(&list, at(start));

    CHECK(area != NULL);
    CHECK_EQ(area->start, at(start));
    CHECK_EQ(area->end, at(end));
    CHECK_EQ(area->prot, prot);
    CHECK_EQ(area->backing, backing);
}

TEST(backing_word, "kernel, object and page of a backing come back, and it is no negative number")
{
    uint64_t last = backing_make(KERNELS_MAX - 1, BACKING_OBJECTS - 1, BACKING_PAGES - 1);

    CHECK((int64_t)last > 0);
    CHECK_EQ(backing_kernel(last), KERNELS_MAX - 1);
    CHECK_EQ(backing_object(last), BACKING_OBJECTS - 1);
    CHECK_EQ(backing_page(last), BACKING_PAGES - 1);
    CHECK_EQ(backing_at(FILE_PAGE(5), 3 * (int64_t)PAGE_SIZE), FILE_PAGE(8));
    CHECK_EQ(backing_at(FILE_PAGE(5), -3 * (int64_t)PAGE_SIZE), FILE_PAGE(2));
    CHECK_EQ(backing_at(BACKING_NONE, 3 * (int64_t)PAGE_SIZE), BACKING_NONE);
}

TEST(backing_cut, "what a removal leaves of a file's area is of the same pages of the file")
{
    begin();
    CHECK_EQ(area_set_backed(&list, at(10), at(20), AREA_READ, FILE_PAGE(100)), 0);
    CHECK_EQ(area_remove(&list, at(13), at(15)), 0);
    expect(10, 13, AREA_READ, FILE_PAGE(100));
    expect(15, 20, AREA_READ, FILE_PAGE(105));
    CHECK_EQ(area_remove(&list, at(8), at(11)), 0);
    expect(11, 13, AREA_READ, FILE_PAGE(101));
    CHECK_EQ(area_set(&list, at(16), at(17), AREA_READ), 0);
    expect(16, 17, AREA_READ, BACKING_NONE);
    expect(17, 20, AREA_READ, FILE_PAGE(107));
    begin();
}

TEST(backing_join, "areas that touch are one only if the second goes on in the file where the first ends")
{
    begin();
    CHECK_EQ(area_set_backed(&list, at(10), at(12), AREA_READ, FILE_PAGE(4)), 0);
    CHECK_EQ(area_set_backed(&list, at(14), at(16), AREA_READ, FILE_PAGE(8)), 0);
    CHECK_EQ(area_set_backed(&list, at(12), at(14), AREA_READ, FILE_PAGE(6)), 0);
    CHECK_EQ(list.count, 1);
    expect(10, 16, AREA_READ, FILE_PAGE(4));
    CHECK_EQ(area_set_backed(&list, at(16), at(18), AREA_READ, FILE_PAGE(11)), 0); /* a page is left out */
    CHECK_EQ(area_set_backed(&list, at(18), at(20), AREA_READ, backing_make(3, 78, 13)), 0);
    CHECK_EQ(area_set(&list, at(20), at(22), AREA_READ), 0);
    CHECK_EQ(list.count, 4);
    expect(16, 18, AREA_READ, FILE_PAGE(11));
    begin();
}

TEST(backing_protect, "a protection that comes and goes leaves one area of the file")
{
    begin();
    CHECK_EQ(area_append_backed(&list, at(10), at(20), AREA_READ, FILE_PAGE(0)), 0);
    CHECK_EQ(area_protect(&list, at(12), at(15), AREA_READ | AREA_WRITE), 0);
    expect(12, 15, AREA_READ | AREA_WRITE, FILE_PAGE(2));
    expect(15, 20, AREA_READ, FILE_PAGE(5));
    CHECK_EQ(area_protect(&list, at(12), at(15), AREA_READ), 0);
    CHECK_EQ(list.count, 1);
    expect(10, 20, AREA_READ, FILE_PAGE(0));
    begin();
}

static int areas_notified;
static uint64_t notified_granted;

static void count_areas(struct area_list *notified, uint64_t backing, enum area_event event)
{
    CHECK_EQ(backing_whole(backing), backing_whole(FILE_PAGE(0)));
    areas_notified += event == AREA_GOES ? -1 : 1;
    notified_granted += notified->granted ? 1 : 0;
    notified->granted = false;
}

TEST(backing_pieces, "areas of shared memory are told of one by one, and never become one")
{
    begin();
    area_refers = count_areas;
    area_list_refers(&list);
    list.granted = true;
    CHECK_EQ(area_set_backed(&list, at(10), at(20), AREA_READ, FILE_PAGE(0) | BACKING_ATTACHED), 0);
    CHECK_EQ(areas_notified, 1);
    CHECK_EQ(notified_granted, 1);
    CHECK_EQ(area_protect(&list, at(12), at(15), AREA_READ | AREA_WRITE), 0);
    CHECK_EQ(area_protect(&list, at(12), at(15), AREA_READ), 0);
    CHECK_EQ(list.count, 3);
    CHECK_EQ(areas_notified, 3);
    expect(12, 15, AREA_READ, FILE_PAGE(2) | BACKING_ATTACHED);
    CHECK_EQ(area_remove(&list, at(11), at(19)), 0);
    CHECK_EQ(areas_notified, 2);
    expect(19, 20, AREA_READ, FILE_PAGE(9) | BACKING_ATTACHED);
    CHECK_EQ(backing_whole(FILE_PAGE(9) | BACKING_ATTACHED | BACKING_READ_ONLY), FILE_PAGE(0));
    area_list_clear(&list);
    CHECK_EQ(areas_notified, 0);
    CHECK_EQ(notified_granted, 1);
    area_refers = NULL;
    begin();
}

TEST(backing_names, "no two mappings of shared memory have a name in common, whatever their sizes and makers")
{
    static struct {
        uint64_t backing, pages;
    } made[600];
    uint64_t state = 1;

    for (uint32_t i = 0; i < 600; i++) {
        uint64_t pages = 1 + test_below(&state, 1ull << test_below(&state, 36));
        uint64_t backing = backing_anonymous(i % 3 * 511, pages);

        CHECK(backing_is_anonymous(backing) && !backing_is_file(backing) && !backing_attached(backing));
        CHECK(!backing_stays(backing));
        CHECK((backing & ~BACKING_ANONYMOUS) != 0); /* mm/change looks it up without this bit, where 0 is none */
        CHECK_EQ(backing_role(backing), i % 3 * 511);
        CHECK_EQ(backing_role(backing_at(backing, (int64_t)((pages - 1) * PAGE_SIZE))), i % 3 * 511);
        CHECK_EQ(backing_left(backing), pages);
        CHECK_EQ(backing_left(backing_at(backing, (int64_t)((pages - 1) * PAGE_SIZE))), 1);
        CHECK_EQ(backing_left(backing_at(backing, (int64_t)(pages * PAGE_SIZE))), 0);
        CHECK_EQ(backing_left(backing_at(backing, (int64_t)((4 * pages - 2) * PAGE_SIZE))), 0);
        CHECK(backing_may_grow(backing, pages, 4 * pages - 1) && backing_may_grow(backing, 4 * pages - 1, pages));
        CHECK(backing_may_grow(backing_at(backing, (int64_t)(pages * PAGE_SIZE)), 0, 3 * pages - 1));
        CHECK(!backing_may_grow(backing, pages, 16 * pages)); /* into the numbers of the next mapping */
        CHECK(!backing_may_grow(backing, pages - 1, pages));  /* a second page with the name of the last one */
        made[i].backing = backing;
        made[i].pages = pages;
        for (uint32_t k = 0; k < i; k++)
            CHECK(made[k].backing + 4 * made[k].pages <= backing || backing + 4 * pages <= made[k].backing);
    }
    CHECK(!backing_is_anonymous(BACKING_NONE) && !backing_is_file(BACKING_NONE) && backing_is_file(FILE_PAGE(1)));
    CHECK(backing_may_grow(FILE_PAGE(1), 1, 1ull << 35));
}

TEST(backing_find, "a page of shared memory or a file is found wherever it is mapped, and not in private memory")
{
    uint64_t name = backing_anonymous(5, 100), address = 0;

    begin();
    CHECK_EQ(area_set_backed(&list, at(10), at(20), AREA_READ | AREA_SHARED, backing_at(name, 4 * PAGE_SIZE)), 0);
    CHECK_EQ(area_set_backed(&list, at(30), at(34), AREA_READ | AREA_SHARED, backing_at(name, 8 * PAGE_SIZE)), 0);
    CHECK_EQ(area_set_backed(&list, at(36), at(38), AREA_READ, BACKING_NONE), 0);
    CHECK(area_find_page(&list, backing_at(name, 9 * PAGE_SIZE), &address, 9));
    CHECK_EQ(address, at(15));
    address += PAGE_SIZE;
    CHECK(area_find_page(&list, backing_at(name, 9 * PAGE_SIZE), &address, 9));
    CHECK_EQ(address, at(31));
    address += PAGE_SIZE;
    CHECK(!area_find_page(&list, backing_at(name, 9 * PAGE_SIZE), &address, 9));
    address = 0;
    CHECK(!area_find_page(&list, backing_at(name, 3 * PAGE_SIZE), &address, 9));
    address = 0;
    CHECK(!area_find_page(&list, backing_at(name, 14 * PAGE_SIZE), &address, 9));
    address = 0;
    CHECK(!area_find_page(&list, FILE_PAGE(3), &address, 9));
    CHECK_EQ(address, UINT64_MAX);
    address = 0;
    CHECK_EQ(area_set_backed(&list, at(50), at(60), AREA_READ | AREA_SHARED, FILE_PAGE(0)), 0);
    CHECK_EQ(area_set_backed(&list, at(40), at(50), AREA_READ, FILE_PAGE(0) | BACKING_READ_ONLY), 0);
    CHECK(area_find_page(&list, FILE_PAGE(3), &address, 9));
    CHECK_EQ(address, at(43));
    address = 0; /* in pieces of one area */
    CHECK(!area_find_page(&list, FILE_PAGE(3), &address, 1));
    CHECK_EQ(address, at(30));
    CHECK(!area_find_page(&list, FILE_PAGE(3), &address, 1));
    CHECK_EQ(address, at(36));
    CHECK(!area_find_page(&list, FILE_PAGE(3), &address, 1));
    CHECK_EQ(address, at(40));
    CHECK(area_find_page(&list, FILE_PAGE(3), &address, 1));
    CHECK_EQ(address, at(43));
    address = at(54);
    CHECK(!area_find_page(&list, FILE_PAGE(3), &address, 1));
    CHECK_EQ(address, UINT64_MAX);
    begin();
}

TEST(backing_clipped, "an area that is made in a gap, or grows together, keeps each page's name")
{
    uint64_t name = backing_anonymous(5, 100);
    struct area *spare;

    begin();
    spare = area_reserve();
    CHECK_EQ(area_set(&list, at(10), at(13), AREA_READ), 0);
    CHECK(area_set_reserved(&list, spare, at(14), at(8), at(16), AREA_READ | AREA_SHARED, name));
    expect(13, 16, AREA_READ | AREA_SHARED, backing_at(name, 5 * PAGE_SIZE));
    CHECK_EQ(area_remove(&list, at(10), at(13)), 0);
    CHECK(area_grow_together(&list, at(8), at(18), AREA_READ | AREA_SHARED, name));
    expect(8, 18, AREA_READ | AREA_SHARED, name);
    begin();
}
