/* What the home accepts as a block of 2 MiB from a kernel that asks for a page, and what goes back of a block that is
 * not used. Nothing but the frames' owners tells a sound peer from a wrong one here.
 * sources: mm/fault/answer.c mm/fault/huge.c mm/lease/map.c mm/directory/sharers.c kernel/lib/ordered.c
 * sources: kernel/lib/string.c */
#include "mm/fault/huge.h"

#include <stdlib.h>

#include "boot/options/control.h"
#include "boot/options/options.h"
#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/window.h"
#include "mm/fault/get.h"
#include "mm/frame/abroad.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"
#include "mm/frame/reference.h"
#include "mm/mempolicy/mempolicy.h"

#include "mm/space/entry.h"
#include "mm/space/strategy.h"
#include "msg/channel.h"
#include "tests/mm/fault/unreached.h"
#include "tests/stand_in/panic.h"
#include "tests/test.h"

#define HOME 0u
#define ASKER 1u
#define THIRD 2u
#define KERNELS 3u
#define SIZE (1ull << 30) /* of a kernel's memory */
#define AT (7 * LEAF_SIZE)
#define PAGE (AT + 5 * PAGE_SIZE)
#define NOBODY (1ull << 40) /* no kernel's memory */

struct instance instance;
static struct plan_range ranges[KERNELS];
static struct space space;
static struct area area;
static _Alignas(64) uint64_t leaf[LEAF_ENTRIES];
static msg_handler handler;
static struct msg_space_got got;
static int error;
static uint16_t has;       /* the asker: enum space_has */
static bool memory;        /* for the table */
static uint64_t kept;      /* a frame of the home that it has not given away */
static bool given;         /* the home has given its other frames away */
static uint64_t forbidden; /* a kernel whose frames the mempolicy does not allow; KERNELS: none */

static uint64_t frame_of(uint32_t kernel, uint64_t block)
{
    return ranges[kernel].base + block * LEAF_SIZE;
}

/* --- what the sources under test call --- */

const struct plan_range *window_range_of(uint64_t pa)
{
    for (uint32_t k = 0; k < KERNELS; k++) {
        if (pa - ranges[k].base < ranges[k].size)
            return &ranges[k];
    }
    return NULL;
}

bool window_owns(uint64_t pa, uint64_t size)
{
    const struct plan_range *range = window_range_of(pa);

    return range != NULL && range->kernel == HOME && pa + size <= range->base + range->size;
}

void *window_direct(uint64_t pa)
{
    (void)pa;
    CHECK(false); /* no test has the home look into memory */
    return NULL;
}

uint32_t frame_owner(uint64_t frame)
{
    const struct plan_range *range = window_range_of(frame);

    return range != NULL ? range->kernel : KERNELS_MAX;
}

uint32_t abroad_count(uint64_t frame)
{
    return window_owns(frame, PAGE_SIZE) && given && frame != kept ? 1 : 0;
}

uint64_t *paging_entry(const struct page_tables *tables, uint64_t va, bool create)
{
    (void)tables;
    CHECK(va >= AT && va < AT + LEAF_SIZE);
    return memory || !create ? leaf + paging_index(va) : NULL;
}

const uint64_t *paging_look(const struct page_tables *tables, uint64_t va)
{
    (void)tables;
    CHECK(va >= AT && va < AT + LEAF_SIZE);
    return leaf + paging_index(va);
}

int paging_make_large(struct page_tables *tables, uint64_t va)
{
    (void)tables;
    (void)va;
    return 0;
}

uint64_t paging_large(const struct page_tables *tables, uint64_t va)
{
    (void)tables;
    (void)va;
    return 0;
}

struct area *area_find(const struct area_list *list, uint64_t address)
{
    (void)list;
    return address >= area.start && address < area.end ? &area : NULL;
}

struct space *space_get(uint64_t id)
{
    return id == space.id ? &space : NULL;
}

void space_put(struct space *of)
{
    (void)of;
}

void msg_register(enum msg_type type, msg_handler of, uint32_t size, uint32_t reply_size)
{
    CHECK_EQ(reply_size, sizeof(struct msg_space_got));
    CHECK_EQ(size, sizeof(struct msg_space_get));
    if (type == MSG_SPACE_GET)
        handler = of;
}

void msg_reply(const struct msg_ticket *ticket, const void *data, uint32_t length)
{
    CHECK_EQ(ticket->kernel, ASKER);
    CHECK_EQ(length, sizeof(got));
    CHECK(data != NULL);
    if (data != NULL)
        memcpy(&got, data, sizeof(got));
}

void msg_reply_error(const struct msg_ticket *ticket, int of)
{
    CHECK_EQ(ticket->kernel, ASKER);
    error = of;
}

static bool policy_allows(uint64_t frame)
{
    return forbidden == KERNELS || frame_owner(frame) != forbidden;
}

bool mempolicy_accepts_block_locked(const struct space *of, uint32_t prot, uint64_t page, uint64_t frame)
{
    (void)of;
    (void)prot;
    (void)page;
    return frame == 0 || policy_allows(frame);
}

bool mempolicy_accepts_locked(const struct space *of, uint32_t prot, uint64_t page, uint64_t frame)
{
    (void)of;
    (void)prot;
    (void)page;
    return policy_allows(frame);
}

static bool taken(const struct space *of, uint64_t start, uint64_t end)
{
    (void)of;
    (void)start;
    (void)end;
    return false;
}

static const struct space_locking locking = {.taken_locked = taken};
const struct space_locking *space_locking = &locking;
static const struct space_retrieval retrieval = {.home_knows = true};

uint32_t option_index(const char *name, const char *value)
{
    (void)name;
    (void)value;
    return 0;
}

int option_add(struct option *option)
{
    (void)option;
    return 0;
}

void *heap_alloc(size_t size)
{
    return calloc(1, size);
}

void *heap_alloc_unset(size_t size)
{
    return malloc(size);
}

void heap_free(void *object, size_t size)
{
    (void)size;
    free(object);
}

/* --- releases --- */

static uint8_t dropped[LEAF_ENTRIES]; /* how often each frame of RELEASED */
static uint64_t released;
static bool batches;    /* there is memory for them */
static uint32_t unsent; /* references in a batch */
static uint32_t one_by_one;

static void drop(uint64_t frame)
{
    CHECK(frame >= released && frame < released + LEAF_SIZE);
    dropped[(frame - released) / PAGE_SIZE]++;
}

void frame_release_run(uint64_t first, uint64_t pages)
{
    CHECK(window_owns(first, pages * PAGE_SIZE));
    for (uint64_t i = 0; i < pages; i++)
        drop(first + i * PAGE_SIZE);
}

int release_add(struct releasing *releasing, uint64_t frame)
{
    (void)releasing;
    if (!batches && frame / PAGE_SIZE % 2 == 0)
        return -ENOMEM;
    drop(frame);
    unsent++;
    return 0;
}

void release_send(struct releasing *releasing)
{
    (void)releasing;
    unsent = 0;
}

void release_one(uint64_t frame)
{
    drop(frame);
    one_by_one++;
}

/* --- the tests --- */

static void begin(void)
{
    sharers_end(&space.sharers);
    sharers_end(&space.owners);
    memset(&space, 0, sizeof(space));
    memset(leaf, 0, sizeof(leaf));
    for (uint32_t k = 0; k < KERNELS; k++)
        ranges[k] = (struct plan_range){.base = (k + 1) * (4 * SIZE), .size = SIZE, .kernel = (uint16_t)k};
    instance.kernel = HOME;
    space.id = 9;
    space.members = 3;
    space.retrieval = &retrieval;
    area = (struct area){
        .start = AT, .end = AT + LEAF_SIZE, .prot = AREA_READ | AREA_WRITE | AREA_HUGE, .backing = BACKING_NONE};
    kept = 0;
    has = 0;
    given = memory = true;
    forbidden = KERNELS;
    space_get_init();
}

/* ASKER asks the home for PAGE, with SPARE. Returns the answer's kind, or a negative errno. */
static int ask(enum space_huge huge, uint64_t spare)
{
    struct msg_space_get question = {
        .space = space.id, .page = PAGE, .spare = spare, .access = AREA_WRITE, .has = has, .huge = (uint16_t)huge};
    struct msg m = {.ticket = {.kernel = ASKER}, .data = &question};

    error = 0;
    memset(&got, 0xff, sizeof(got));
    handler(&m);
    CHECK_EQ(space.lock.held, 0);
    return error != 0 ? error : got.kind;
}

static uint32_t entries(void)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < LEAF_ENTRIES; i++)
        count += leaf[i] != 0;
    return count;
}

/* The home maps the block of KERNEL, by borrowed entries, and knows whose it is. */
static void expect_taken(uint32_t kernel)
{
    uint64_t block;

    begin();
    block = frame_of(kernel, 3);
    CHECK_EQ(ask(SPACE_HUGE_MAY, 0), SPACE_WANTS_BLOCK);
    CHECK_EQ(entries(), 0);
    CHECK_EQ(ask(SPACE_HUGE_BLOCK, block + (PAGE - AT)), SPACE_TAKEN_BLOCK);
    for (uint32_t i = 0; i < LEAF_ENTRIES; i++) {
        CHECK_EQ(leaf[i] & PAGING_FRAME, block + i * PAGE_SIZE);
        CHECK((leaf[i] & PAGING_SOFT_OWNING) == 0);
        CHECK_EQ((leaf[i] & PAGING_SOFT_REMOTE) != 0, kernel != HOME);
    }
    for (uint32_t k = ASKER; k < KERNELS; k++)
        CHECK_EQ(owners_has(&space.owners, PAGE, k), k == kernel);
}

TEST(block_taken, "a block of the asker, of a third kernel, and one that the home has given away is mapped as it is")
{
    for (uint32_t k = 0; k < KERNELS; k++)
        expect_taken(k);
}

/* Nothing of what begins at SPARE is mapped: the page is to be got with its lock. */
static void expect_refused(uint64_t spare)
{
    CHECK_EQ(ask(SPACE_HUGE_BLOCK, spare), SPACE_AREA);
    CHECK_EQ(entries(), 0);
}

TEST(block_of_home, "a block of the home with a frame that it has not given away is refused")
{
    uint64_t block, spare;

    begin();
    block = frame_of(HOME, 3);
    spare = block + (PAGE - AT);
    kept = block;
    expect_refused(spare);
    kept = block + LEAF_SIZE - PAGE_SIZE;
    expect_refused(spare);
    kept = spare;
    expect_refused(spare);
    given = false;
    expect_refused(spare);
}

TEST(block_place,
     "a block is refused if the spare frame is not at the page's place, or an end is another kernel's or nobody's")
{
    begin();
    expect_refused(frame_of(THIRD, 3));
    expect_refused(frame_of(THIRD, 3) + (PAGE - AT) + PAGE_SIZE);
    expect_refused(0);
    ranges[THIRD].size = 3 * LEAF_SIZE + 100 * PAGE_SIZE; /* the block has no end */
    expect_refused(frame_of(THIRD, 3) + (PAGE - AT));
    ranges[THIRD].base += PAGE_SIZE; /* nor this one a begin */
    expect_refused(frame_of(THIRD, 0) - PAGE_SIZE + (PAGE - AT));
    ranges[ASKER].base = ranges[THIRD].base - SIZE; /* but another kernel's */
    ranges[ASKER].size = SIZE;
    expect_refused(frame_of(THIRD, 0) - PAGE_SIZE + (PAGE - AT));
}

TEST(block_not_wanted,
     "of a block that is not wanted the home takes the spare frame if that is the asker's, and no other kernel's")
{
    for (uint32_t k = 0; k < KERNELS; k++) {
        uint64_t spare;

        begin();
        spare = frame_of(k, 3) + (PAGE - AT);
        area.prot |= AREA_NO_HUGE;
        CHECK_EQ(ask(SPACE_HUGE_BLOCK, spare), k == ASKER ? SPACE_TAKEN : SPACE_AREA);
        CHECK_EQ(entries(), k == ASKER ? 1 : 0);
        CHECK_EQ(leaf[paging_index(PAGE)] & PAGING_FRAME, k == ASKER ? spare : 0);
    }
}

TEST(block_copy,
     "the spare frame of a block takes the place of a page that is shared after a fork only if it is the asker's")
{
    uint64_t old;

    begin();
    old = frame_of(HOME, 9) | PAGING_PRESENT | PAGING_USER | PAGING_SOFT_COW | PAGING_SOFT_OWNING;
    has = SPACE_HAS_NO_ENTRY;
    leaf[paging_index(PAGE)] = old;
    CHECK_EQ(ask(SPACE_HUGE_BLOCK, frame_of(THIRD, 3) + (PAGE - AT)), SPACE_BUSY);
    CHECK_EQ(ask(SPACE_HUGE_BLOCK, frame_of(HOME, 3) + (PAGE - AT)), SPACE_BUSY);
    CHECK_EQ(leaf[paging_index(PAGE)], old);
    CHECK_EQ(ask(SPACE_HUGE_BLOCK, frame_of(ASKER, 3) + (PAGE - AT)), SPACE_COPIED);
    CHECK_EQ(leaf[paging_index(PAGE)] & PAGING_FRAME, frame_of(ASKER, 3) + (PAGE - AT));
}

TEST(block_policy, "a block on a node that the policy does not allow is refused, and its spare frame, too")
{
    begin();
    forbidden = THIRD;
    expect_refused(frame_of(THIRD, 3) + (PAGE - AT));
    forbidden = ASKER;
    expect_refused(frame_of(ASKER, 3) + (PAGE - AT));
    CHECK_EQ(ask(SPACE_HUGE_BLOCK, frame_of(THIRD, 3) + (PAGE - AT)), SPACE_TAKEN_BLOCK);
}

TEST(block_without, "a frame of another kernel than the asker is a wrong message unless it is a part of a block")
{
    begin();
    for (uint32_t huge = SPACE_HUGE_NO; huge <= SPACE_HUGE_MAY; huge++) {
        CHECK_EQ(ask(huge, frame_of(HOME, 3) + (PAGE - AT)), -EPROTO);
        CHECK_EQ(ask(huge, frame_of(THIRD, 3) + (PAGE - AT)), -EPROTO);
    }
    CHECK_EQ(ask(SPACE_HUGE_BLOCK, NOBODY + (PAGE - AT)), -EPROTO);
    CHECK_EQ(ask(SPACE_HUGE_BLOCK, frame_of(THIRD, 3) + (PAGE - AT) + 8), -EPROTO);
    CHECK_EQ(entries(), 0);
}

TEST(block_no_table, "without memory for a table neither the block nor its spare frame is taken")
{
    begin();
    memory = false;
    expect_refused(frame_of(THIRD, 3) + (PAGE - AT));
}

/* All frames of BLOCK but KEEP lose one reference. */
static void expect_dropped(uint64_t block, uint64_t keep)
{
    memset(dropped, 0, sizeof(dropped));
    released = block;
    huge_block_release(block, keep);
    for (uint32_t i = 0; i < LEAF_ENTRIES; i++)
        CHECK_EQ(dropped[i], block + i * PAGE_SIZE != keep);
    CHECK_EQ(unsent, 0);
}

TEST(block_release, "each frame of a block but one loses its reference once, with and without memory for batches")
{
    begin();
    for (uint32_t k = 0; k < KERNELS; k++) {
        uint64_t block = frame_of(k, 3);

        for (int with = 1; with >= 0; with--) {
            batches = with != 0;
            one_by_one = 0;
            expect_dropped(block, 0);
            expect_dropped(block, block);
            expect_dropped(block, block + 5 * PAGE_SIZE);
            expect_dropped(block, block + LEAF_SIZE - PAGE_SIZE);
            CHECK_EQ(one_by_one != 0, k != HOME && !batches);
        }
    }
}
