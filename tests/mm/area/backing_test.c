/* Areas with files behind them: what is cut, joined and changed keeps to its place in the file.
 * sources: mm/area/area.c mm/area/tree.c */
#define PAGES 8u
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
