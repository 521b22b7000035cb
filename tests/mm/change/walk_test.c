/* A change that another kernel has decided on, and that pauses while another one is made here.
 * sources: mm/change/walk.c mm/area/area.c mm/area/tree.c */
#include "mm/change/internal.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "mm/space/space.h"
#include "msg/slice.h"
#include "tests/stand_in/heap.h"
#include "tests/test.h"

#define CHANGE(type) (&(struct msg_space_change){.operation = (type)})

struct instance instance;

static struct space space = {.home = 1};
static int64_t inner; /* the result of the change in the pause */
static bool pauses;

const uint64_t *paging_next_leaf_look(const struct page_tables *tables, uint64_t *va, uint64_t end)
{
    (void)tables;
    (void)va;
    (void)end;
    return NULL;
}

/* The space has no copies of pages. */
void replicas_drop_all_locked(struct space *s, uint64_t start, uint64_t end)
{
    (void)s;
    (void)start;
    (void)end;
    CHECK(false);
}

/* Splits an area of a list that is full. */
static int64_t split_locked(struct space *s, const struct msg_space_change *change)
{
    struct area_spares spares = {NULL, NULL};
    int error;

    (void)change;
    space_pause_locked(s);
    s->areas.count += AREA_COUNT_MAX;
    error = area_spares_take(&spares, &s->areas, 2 * PAGE_SIZE, 3 * PAGE_SIZE);
    s->areas.count -= AREA_COUNT_MAX;
    area_spares_drop(&spares);
    return error;
}

static int64_t none_locked(struct space *s, const struct msg_space_change *change)
{
    (void)s;
    (void)change;
    return 7;
}

const struct operation space_operations[SPACE_OPERATIONS_END - SPACE_OPERATIONS] = {
    [MSG_SPACE_PROTECT - SPACE_OPERATIONS] = {.apply = split_locked},
    [MSG_SPACE_MAP - SPACE_OPERATIONS] = {.apply = none_locked},
};

bool slice_pause(void)
{
    pauses = false;
    inner = space_apply(&space, CHANGE(MSG_SPACE_MAP));
    return true;
}

uint64_t rdtsc_unordered(void)
{
    return pauses ? SLICE_COUNTS + 1 : 0;
}

TEST(walk_follows,
     "a change that the home has decided is not refused for the number of areas, whatever begins in a pause")
{
    for (int paused = 0; paused < 2; paused++) {
        for (uint32_t kernel = 0; kernel < 2; kernel++) { /* kernel 1 is the home */
            instance.kernel = kernel;
            inner = 0;
            pauses = paused != 0;
            area_list_init(&space.areas);
            CHECK_EQ(area_set(&space.areas, PAGE_SIZE, 9 * PAGE_SIZE, AREA_READ), 0);
            CHECK_EQ(space_apply(&space, CHANGE(MSG_SPACE_PROTECT)), kernel == 1 ? -ENOMEM : 0);
            CHECK_EQ(inner, paused != 0 ? 7 : 0);
            CHECK_EQ(space.areas.follows, 0);
            CHECK_EQ(area_remove(&space.areas, PAGE_SIZE, 9 * PAGE_SIZE), 0);
        }
    }
}
