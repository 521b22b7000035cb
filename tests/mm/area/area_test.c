/* The list of areas, case by case, and against a small map with one word a page; random_test.c has a large one.
 * sources: mm/area/area.c mm/area/tree.c */
#include "kernel/abi/errno.h"

#define PAGES 48u
#include "tests/mm/area/model.h"

TEST(area_random, "random changes of a small map agree with it, where most touch several areas; so do all questions")
{
    uint64_t state = 1;

    begin();
    for (int i = 0; i < 60000; i++) {
        struct step step = random_step(&state);
        bool refused = step_refused(&step);

        CHECK_EQ(step_list(&step), refused ? -ENOMEM : 0);
        if (!refused)
            step_map(&step);
        check_list();
        if (i % 4 == 0)
            check_queries(&state);
    }
    begin();
}

TEST(area_split, "a removal from the middle leaves both ends, and a set of the middle alike joins all three")
{
    begin();
    CHECK_EQ(area_set(&list, at(2), at(20), AREA_READ), 0);
    CHECK_EQ(area_remove(&list, at(8), at(12)), 0);
    fill(2, 8, AREA_READ);
    fill(12, 20, AREA_READ);
    check_list();
    CHECK_EQ(list.count, 2);
    CHECK_EQ(area_set(&list, at(8), at(12), AREA_READ), 0);
    fill(8, 12, AREA_READ);
    check_list();
    CHECK_EQ(list.count, 1);
    begin();
}

TEST(area_remove_memory, "a removal with memory that was reserved needs no other, and leaves what a removal leaves")
{
    uint64_t state = 3;

    begin();
    for (int i = 0; i < 20000; i++) {
        struct step step = random_step(&state);
        struct area *memory = area_reserve();

        CHECK(memory != NULL);
        if (step_list(&step) == 0)
            step_map(&step);
        heap_left = 0;
        CHECK_EQ(area_remove_reserved(&list, at(step.start), at(step.end), memory), 0);
        heap_left = -1;
        fill(step.start, step.end, NONE);
        check_list();
        step = random_step(&state); /* so that the list does not become empty */
        if (step_list(&step) == 0)
            step_map(&step);
    }
    begin();
}

TEST(area_no_memory, "a change that fails at its first or a later allocation changes nothing and loses nothing")
{
    uint64_t state = 2;
    uint32_t failed[KINDS][2] = {{0}};

    begin();
    for (int i = 0; i < 20000; i++) {
        struct step step = random_step(&state);
        bool refused = step_refused(&step);
        int error = -ENOMEM;

        for (int memory = 0; error != 0 && memory <= 2; memory++) {
            heap_left = memory;
            error = step_list(&step);
            heap_left = -1;
            CHECK(error == 0 || error == -ENOMEM);
            if (error == 0)
                step_map(&step);
            else if (memory < 2)
                failed[step.kind][memory]++;
            check_list();
        }
        CHECK_EQ(error, refused ? -ENOMEM : 0);
    }
    /* each of them did fail, at the first allocation and, if it has two, at the second */
    for (int kind = 0; kind < KINDS; kind++)
        CHECK(failed[kind][0] > 0 && (failed[kind][1] > 0) == (kind != KIND_REMOVE));
    CHECK_EQ(area_append(&list, at(PAGES), at(PAGES + 1), AREA_READ), 0);
    CHECK_EQ(area_remove(&list, at(PAGES), at(PAGES + 1)), 0);
    heap_left = 0;
    CHECK_EQ(area_append(&list, at(PAGES), at(PAGES + 1), AREA_READ), -ENOMEM);
    heap_left = -1;
    check_list();
    begin();
}

/* Changes the protection of STEP's range part by part, without memory, while others change what is behind it. */
static void protect_in_parts(const struct step *step, uint64_t *state)
{
    uint64_t end = at(step->end);
    struct area_spares spares = {NULL, NULL};

    CHECK_EQ(area_spares_take(&spares, &list, at(step->start), end), 0);
    for (uint64_t from = at(step->start), stop = from; stop < end; from = area_part_from(&list, stop)) {
        const struct area *area = area_next(&list, from);
        struct step other = random_step(state);

        for (uint64_t skip = 1 + test_below(state, 3); skip > 0 && area != NULL; skip--)
            area = area_after(&list, area);
        stop = area != NULL && area->start < end ? area->start : end;
        heap_left = 0;
        CHECK_EQ(area_protect_part(&list, from, stop, step->prot, &spares), 0);
        heap_left = -1;
        other.kind = KIND_PROTECT_KNOWN;
        other.start = step->end;
        other.end = step->end + 1 + test_below(state, 4);
        if (other.end > PAGES)
            continue;
        other.prot = test_below(state, 2) == 0 ? step->prot : other.prot & AREA_PROT;
        CHECK_EQ(step_list(&other), 0);
        step_map(&other);
    }
    area_spares_drop(&spares);
    step_map(step);
    check_list();
}

TEST(area_most, "no change makes more areas than a list may have, neither by one split nor by two")
{
    begin();
    CHECK_EQ(area_set(&list, at(2), at(9), AREA_READ), 0);
    list.count = AREA_COUNT_MAX - 1; /* as if there were as many */
    CHECK_EQ(area_protect(&list, at(4), at(6), AREA_WRITE), -ENOMEM);
    CHECK_EQ(area_flag(&list, at(4), at(6), AREA_HUGE, 0), -ENOMEM);
    CHECK_EQ(area_set(&list, at(4), at(6), AREA_WRITE), -ENOMEM);
    CHECK_EQ(area_remove(&list, at(4), at(6)), 0);
    list.count = 2;
    fill(2, 4, AREA_READ);
    fill(6, 9, AREA_READ);
    check_list();
    list.count = AREA_COUNT_MAX - 1;
    CHECK_EQ(area_protect(&list, at(2), at(3), AREA_WRITE), 0);
    CHECK_EQ(area_remove(&list, at(7), at(8)), -ENOMEM);
    CHECK_EQ(list.count, AREA_COUNT_MAX);
    list.follows = 1; /* another list has the limit */
    CHECK_EQ(area_protect(&list, at(7), at(8), AREA_WRITE), 0);
    list.follows = 0;
    CHECK_EQ(list.count, AREA_COUNT_MAX + 2);
    list.holes = 3; /* one more than there are */
    CHECK_EQ(area_remove(&list, at(8), at(9)), 0);
    CHECK_EQ(area_set(&list, at(8), at(9), AREA_READ), 0);
    list.holes = 2;
    CHECK_EQ(area_set(&list, at(8), at(9), AREA_WRITE | AREA_EXEC), -ENOMEM);
    list.holes = 0;
    list.count = 5;
    fill(7, 8, AREA_WRITE);
    fill(2, 3, AREA_WRITE);
    check_list();
    begin();
}

TEST(area_part_begins,
     "what is added before the end of a part is not skipped with the area behind it, if that is alike")
{
    begin();
    CHECK_EQ(area_set(&list, at(2), at(6), AREA_READ), 0);
    CHECK_EQ(area_set(&list, at(10), at(14), AREA_READ), 0);
    CHECK_EQ(area_flag_part(&list, at(0), at(10), AREA_LOCKED, 0, NULL), 0);
    CHECK_EQ(area_part_from(&list, at(10)), at(10));
    CHECK_EQ(area_set(&list, at(8), at(10), AREA_READ), 0); /* grows together with that behind it */
    CHECK_EQ(area_part_from(&list, at(10)), at(8));
    CHECK_EQ(area_flag_part(&list, at(8), at(14), AREA_LOCKED, 0, NULL), 0);
    CHECK_EQ(area_find(&list, at(13))->prot, AREA_READ | AREA_LOCKED);
    CHECK_EQ(area_part_from(&list, at(14)), at(14));
    begin();
}

TEST(area_parts, "a change made in parts needs no memory once it has begun, whatever merges with its ends meanwhile")
{
    uint64_t state = 8;
    struct area_spares spares = {NULL, NULL};
    uint32_t before;

    begin();
    for (int i = 0; i < 20000; i++) {
        struct step step = random_step(&state);

        if (i % 2 == 0) {
            if (step_list(&step) == 0)
                step_map(&step);
            continue;
        }
        step.kind = KIND_PROTECT_KNOWN;
        step.prot &= AREA_PROT;
        protect_in_parts(&step, &state);
    }
    begin();
    CHECK_EQ(area_set(&list, at(2), at(9), AREA_READ), 0);
    before = list.count;
    list.count = AREA_COUNT_MAX - 1; /* as if there were as many */
    CHECK_EQ(area_spares_take(&spares, &list, at(3), at(8)), -ENOMEM);
    CHECK_EQ(area_spares_take(&spares, &list, at(2), at(8)), 0);
    area_spares_drop(&spares);
    list.count = before;
    heap_left = 1;
    CHECK_EQ(area_spares_take(&spares, &list, at(3), at(8)), -ENOMEM);
    heap_left = -1;
    begin();
}

TEST(area_remove_frees, "what makes no second area out of one needs no memory to be removed")
{
    begin();
    for (uint64_t page = 1; page < 40; page += 5)
        CHECK_EQ(area_set(&list, at(page), at(page + 4), AREA_READ), 0);
    heap_left = 0;
    CHECK_EQ(area_remove(&list, at(1), at(2)), 0);   /* the front of one */
    CHECK_EQ(area_remove(&list, at(9), at(10)), 0);  /* the end of one */
    CHECK_EQ(area_remove(&list, at(13), at(28)), 0); /* an end, two whole ones, a front */
    CHECK_EQ(area_remove(&list, at(37), at(38)), -ENOMEM);
    CHECK_EQ(area_remove(&list, at(0), at(PAGES)), 0);
    CHECK_EQ(list.count, 0);
    begin();
}

TEST(area_shared_apart, "a shared area joins no private one, and a change of protection keeps it shared")
{
    begin();
    CHECK_EQ(area_append(&list, at(2), at(6), AREA_READ), 0);
    CHECK_EQ(area_append(&list, at(6), at(9), AREA_READ | AREA_SHARED), 0);
    CHECK_EQ(list.count, 2);
    CHECK_EQ(area_protect(&list, at(4), at(8), AREA_READ | AREA_WRITE), 0);
    fill(2, 4, AREA_READ);
    fill(4, 6, AREA_READ | AREA_WRITE);
    fill(6, 8, AREA_READ | AREA_WRITE | AREA_SHARED);
    fill(8, 9, AREA_READ | AREA_SHARED);
    check_list();
    CHECK_EQ(list.count, 4);
    CHECK_EQ(area_protect(&list, at(2), at(9), AREA_READ), 0);
    CHECK_EQ(list.count, 2);
    begin();
}

TEST(area_flag_range, "other bits are set and cleared for a range with holes, and outlive a new protection")
{
    begin();
    CHECK_EQ(area_set(&list, at(2), at(10), AREA_READ | AREA_WRITE | AREA_NORESERVE), 0);
    CHECK_EQ(area_set(&list, at(12), at(20), AREA_READ), 0);
    CHECK_EQ(area_flag(&list, at(8), at(14), AREA_DONTFORK | AREA_HUGE, AREA_NO_HUGE | AREA_NORESERVE), 0);
    fill(2, 8, AREA_READ | AREA_WRITE | AREA_NORESERVE);
    fill(8, 10, AREA_READ | AREA_WRITE | AREA_DONTFORK | AREA_HUGE);
    fill(12, 14, AREA_READ | AREA_DONTFORK | AREA_HUGE);
    fill(14, 20, AREA_READ);
    check_list();
    CHECK_EQ(area_protect(&list, at(12), at(20), AREA_EXEC), 0);
    fill(12, 14, AREA_EXEC | AREA_DONTFORK | AREA_HUGE);
    fill(14, 20, AREA_EXEC);
    check_list();
    CHECK_EQ(area_flag(&list, at(0), at(30), 0, AREA_DONTFORK | AREA_HUGE), 0);
    fill(12, 20, AREA_EXEC);
    fill(8, 10, AREA_READ | AREA_WRITE);
    check_list();
    CHECK_EQ(list.count, 3);
    begin();
}

TEST(area_flag_alone, "neither does a change of bits touch the protection, nor a change of protection the bits")
{
    begin();
    CHECK_EQ(area_set(&list, at(2), at(6), AREA_READ | AREA_WIPEONFORK), 0);
    CHECK_EQ(area_flag(&list, at(2), at(6), AREA_GROWS | AREA_WRITE | AREA_EXEC, AREA_READ), 0);
    fill(2, 6, AREA_READ | AREA_WIPEONFORK | AREA_GROWS);
    check_list();
    CHECK_EQ(area_protect_known(&list, at(2), at(6), AREA_WRITE | AREA_SHARED | AREA_HUGE), 0);
    fill(2, 6, AREA_WRITE | AREA_WIPEONFORK | AREA_GROWS);
    check_list();
    begin();
}

TEST(area_append_place, "what is appended joins an equal neighbour, and is refused where it is not behind all others")
{
    begin();
    CHECK_EQ(area_append(&list, at(5), at(5), AREA_READ), -EINVAL);
    CHECK_EQ(area_append(&list, at(5), at(8), AREA_READ), 0);
    CHECK_EQ(area_append(&list, at(7), at(9), AREA_READ), -EINVAL);
    CHECK_EQ(area_append(&list, at(1), at(2), AREA_READ), -EINVAL);
    CHECK_EQ(area_append(&list, at(8), at(10), AREA_READ), 0);
    fill(5, 10, AREA_READ);
    check_list();
    CHECK_EQ(list.count, 1);
    begin();
}

TEST(area_empty_range, "a change of an empty range changes nothing, and needs no memory")
{
    begin();
    CHECK_EQ(area_set(&list, at(2), at(8), AREA_READ), 0);
    fill(2, 8, AREA_READ);
    heap_left = 0;
    CHECK_EQ(area_set(&list, at(4), at(4), AREA_WRITE), 0);
    CHECK_EQ(area_remove(&list, at(4), at(4)), 0);
    CHECK_EQ(area_protect(&list, at(4), at(4), AREA_WRITE), 0);
    CHECK_EQ(area_flag(&list, at(4), at(4), AREA_SHARED, 0), 0);
    check_list();
    begin();
}

/* What an answer says of a block of pages around one. */
static void note_block(uint64_t page, uint64_t block, uint32_t prot)
{
    struct area *area = area_reserve();
    uint64_t start = page & ~((1ull << block) - 1), end = start + (1ull << block);
    bool known = map[page] != NONE;

    CHECK(area != NULL);
    heap_left = 0;
    CHECK_EQ(area_set_reserved(&list, area, at(page), at(start), at(end), prot, BACKING_NONE), !known);
    heap_left = -1;
    if (known) {
        area_unreserve(area);
        return;
    }
    while (page > start && map[page - 1] == NONE)
        page--;
    for (; page < end && map[page] == NONE; page++)
        map[page] = (uint16_t)prot;
}

TEST(area_set_around,
     "what no area has around an address becomes one without memory, and no page beyond its neighbours")
{
    uint64_t state = 11;

    for (int round = 0; round < 40; round++) {
        begin();
        for (int i = 0; i < 60; i++) {
            uint64_t page = test_below(&state, PAGES), end;

            note_block(page, test_below(&state, 4), 1 + (uint32_t)test_below(&state, 2));
            page = test_below(&state, PAGES);
            end = page + test_below(&state, PAGES - page < 6 ? PAGES - page : 6);
            CHECK_EQ(area_remove(&list, at(page), at(end)), 0);
            fill(page, end, NONE);
            check_list();
        }
    }
    begin();
}

TEST(area_grow, "areas with a part of a range become one with all of it, without memory; with none nothing happens")
{
    uint64_t state = 12;

    for (int round = 0; round < 200; round++) {
        uint64_t start = test_below(&state, PAGES - 8), end = start + 1 + test_below(&state, 8);
        bool some = false;

        begin();
        for (int i = 0; i < 6; i++) { /* alike in the range, others beside it */
            uint64_t page = test_below(&state, PAGES);
            uint32_t prot = page + 1 >= start && page <= end ? AREA_READ : AREA_WRITE;

            CHECK_EQ(area_set(&list, at(page), at(page + 1), prot), 0);
            fill(page, page + 1, (uint16_t)prot);
        }
        for (uint64_t page = start; page < end; page++)
            some |= map[page] != NONE;
        heap_left = 0;
        CHECK_EQ(area_grow_together(&list, at(start), at(end), AREA_READ, BACKING_NONE), some);
        heap_left = -1;
        if (some)
            fill(start, end, AREA_READ);
        check_list();
    }
    begin();
}

TEST(area_move, "a list that gets another's areas drops its own; the other is empty, and both can be used")
{
    struct area_list other;

    begin();
    area_list_init(&other);
    CHECK_EQ(area_set(&other, at(3), at(5), AREA_READ), 0);
    CHECK_EQ(area_set(&other, at(7), at(9), AREA_WRITE), 0);
    CHECK_EQ(area_set(&list, at(20), at(30), AREA_READ), 0);
    area_list_move(&list, &other);
    fill(3, 5, AREA_READ);
    fill(7, 9, AREA_WRITE);
    check_list();
    CHECK_EQ(area_set(&list, at(5), at(7), AREA_READ), 0);
    fill(5, 7, AREA_READ);
    check_list();
    CHECK(other.count == 0 && area_next(&other, 0) == NULL && list_empty(&other.head));
    area_list_move(&list, &other);
    fill(0, PAGES, NONE);
    check_list();
    begin();
}

TEST(area_clear, "clearing the list gives every object back")
{
    begin();
    for (uint64_t page = 0; page < PAGES; page += 2)
        CHECK_EQ(area_set(&list, at(page), at(page + 1), AREA_READ), 0);
    CHECK_EQ(list.count, PAGES / 2);
    area_list_clear(&list);
    CHECK_EQ(list.count, 0);
    CHECK_EQ(heap_objects, 0);
    CHECK(area_find(&list, 0) == NULL);
}

TEST(area_gap_edges, "a gap is found in an empty list, exactly as long as asked, and not where the range is too short")
{
    begin();
    CHECK_EQ(area_find_gap(&list, at(4), at(1), at(5)), at(1));
    CHECK_EQ(area_find_gap(&list, at(5), at(1), at(5)), 0);
    CHECK_EQ(area_set(&list, at(10), at(20), AREA_READ), 0);
    CHECK_EQ(area_find_gap(&list, at(2), at(8), at(20)), at(8));
    CHECK_EQ(area_find_gap(&list, at(3), at(8), at(20)), 0);
    CHECK_EQ(area_find_gap(&list, at(1), at(10), at(20)), 0);
    CHECK_EQ(area_find_gap(&list, at(1), at(10), at(15)), 0);
    CHECK_EQ(area_find_gap(&list, at(1), at(10), at(21)), at(20));
    begin();
}
