/* What the home decides about reports: memory of which parts are elsewhere comes to its user, what may not move any
 * more stays, and what could not be done is noted for all of its blocks.
 * sources: mm/seen/seen.c mm/space/account.c mm/seen/table.c mm/seen/region.c mm/seen/block.c mm/seen/draw.c
 * sources: mm/seen/draw_home.c mm/seen/group.c mm/seen/group_node.c mm/seen/choice.c mm/area/area.c mm/area/tree.c
 * sources: kernel/lib/string.c */
#include "tests/mm/seen/space.h"

#include "kernel/abi/errno.h"
#include "mm/seen/gather.h"
#include "mm/seen/hint.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "tests/stand_in/messages.h"

#define LOOK (seen_half_ns / 10) /* the shortest period */
#define FOLLOWS(policy) ((uint16_t)(POLICY_BALANCING | (seen_policy_find(policy) + 1) << POLICY_FOLLOW_SHIFT))

void hint_forget_locked(struct space *of)
{
    (void)of;
}

void hint_end(struct space *of)
{
    (void)of;
}

struct space *space_get(uint64_t id)
{
    return id == space.id ? &space : NULL;
}

void space_put(struct space *of)
{
    (void)of;
}

int msg_call(uint32_t kernel, enum msg_type type, const void *data, uint32_t length, void *reply, uint32_t room,
             const char *why, uint64_t key)
{
    (void)kernel, (void)type, (void)data, (void)length, (void)reply, (void)room, (void)why, (void)key;
    return -EIO;
}

static kernel_set notified;

int msg_notify(uint32_t kernel, enum msg_type type, const void *data, uint32_t length)
{
    CHECK(type == MSG_SPACE_SEE_SOON && length == sizeof(struct msg_space_see_soon));
    CHECK_EQ(((const struct msg_space_see_soon *)data)->space, space.id);
    notified |= 1ull << kernel;
    return 0;
}

static uint32_t soon; /* how often this kernel was to look soon */

static void note_soon(void)
{
    soon++;
}

static gather_note *note_report;

void gather_init(gather_note *note)
{
    note_report = note;
}

uint64_t policy_machine_nodes(void)
{
    return (1ull << NODES) - 1;
}

const struct policy *policy_known_locked(const struct space *of, uint32_t number)
{
    (void)of;
    return policies[number].mode != 0 ? &policies[number] : NULL;
}

const uint64_t *paging_look(const struct page_tables *tables, uint64_t va)
{
    (void)tables;
    return va >= START && va < START + TABLES * LEAF_SIZE ? &pages[(va - START) / LEAF_SIZE][paging_index(va)] : NULL;
}

/* The pages [FIRST, END) of the first table are on NODE. */
static void put_pages(uint32_t first, uint32_t end, uint32_t node)
{
    for (uint32_t page = first; page < end; page++)
        put_page(START + page * PAGE_SIZE, node, 0);
}

/* A space whose memory has the policy NAME, in blocks of BYTES (0: adaptive). */
static void begin_with(const char *name, uint64_t bytes)
{
    if (note_report == NULL)
        seen_init();
    if (space.seen != NULL)
        seen_destroy(&space);
    begin();
    seen_policy_now = seen_policy_find(name);
    seen_block_bytes = bytes;
    CHECK_EQ(area_set(&space.areas, START, START + TABLES * LEAF_SIZE, AREA_READ | AREA_WRITE), 0);
}

static void end(void)
{
    begin_with("none", SEEN_BLOCK_PAGES * PAGE_SIZE);
    area_list_clear(&space.areas);
}

static struct msg_seen_answer answer; /* to the last report */

static void tell(const struct msg_space_seen *seen)
{
    note_report(seen, &answer);
}

/* COUNT reports, a bit of the answer for each. */
static void tell_all(const struct msg_space_seen *seen, uint32_t count)
{
    struct msg_seen_answer all = {0};

    for (uint32_t i = 0; i < count; i++) {
        tell(&seen[i]);
        all.soon |= answer.soon << i;
        all.shared |= answer.shared << i;
    }
    answer = all;
}

/* A look of NODE has found the pages [FIRST, END) of the first table used. Returns whether others have a share. */
static bool report(uint32_t node, uint32_t first, uint32_t end_page)
{
    struct msg_space_seen seen = {.space = space.id, .start = START, .node = (uint16_t)node};

    for (uint32_t page = first; page < end_page; page++)
        seen_add(&seen, page);
    tell(&seen);
    now += LOOK;
    return answer.shared != 0;
}

/* Moves what the home wants. Returns how many pages were elsewhere. */
static uint32_t move(void)
{
    uint64_t start, bytes;
    uint32_t node, moves, moved = 0;

    while (seen_next(&space, &start, &bytes, &node, &moves)) {
        for (uint64_t page = start; node < NODES && page < start + bytes; page += PAGE_SIZE) {
            const struct area *area = area_find(&space.areas, page);

            if (policy_node_of(*paging_look(NULL, page)) == node || backing_stays(area->backing) ||
                (seen_may_follow(&space, page) >> node & 1) == 0)
                continue;
            put_page(page, node, 0);
            moved++;
        }
    }
    return moved;
}

static uint32_t on_node(uint32_t node)
{
    uint32_t count = 0;

    for (uint32_t page = 0; page < LEAF_ENTRIES; page++)
        count += pages[0][page] != 0 && policy_node_of(pages[0][page]) == node;
    return count;
}

TEST(seen_joined, "all of a block that has joined comes to its only user, also if its first pages are there already")
{
    static const char *const names[] = {"kettle", "share", "nemo"};

    for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        uint32_t moved = 0;

        begin_with(names[i], 0);
        put_pages(0, 16, 0); /* what has begun to use the rest has touched them */
        put_pages(16, LEAF_ENTRIES, 1);
        for (uint32_t look = 0; look < 30; look++) {
            report(0, 0, LEAF_ENTRIES);
            moved += move();
        }
        CHECK_EQ(seen_place_of(space.seen, START).size, LEAF_ENTRIES);
        CHECK_EQ(moved, LEAF_ENTRIES - 16);
        CHECK_EQ(on_node(0), LEAF_ENTRIES);
        CHECK_EQ(space.seen->wanted, 0);
    }
    end();
}

TEST(seen_joined_other,
     "the same of a user on another node than the home, where a part in the middle has stayed behind")
{
    begin_with("kettle", 0);
    put_pages(0, LEAF_ENTRIES, 2);
    put_pages(160, 170, 0);
    for (uint32_t look = 0; look < 30; look++) {
        report(2, 0, LEAF_ENTRIES);
        move();
    }
    CHECK_EQ(on_node(2), LEAF_ENTRIES);
    end();
}

TEST(seen_mixed,
     "pages of two nodes in turns come to the one that uses both, in any block that adapts, and no others do")
{
    begin_with("nemo", 0);
    for (uint32_t page = 0; page < LEAF_ENTRIES; page++)
        put_pages(page, page + 1, page % 2);
    for (uint32_t look = 0; look < 10; look++) { /* each node uses its own */
        struct msg_space_seen seen = {.space = space.id, .start = START, .node = look % 2};

        for (uint32_t page = look % 2; page < LEAF_ENTRIES; page += 2)
            seen_add(&seen, page);
        tell(&seen);
        CHECK_EQ(move(), 0);
        CHECK(space.seen == NULL);
    }
    for (uint32_t look = 0; look < 20; look++) {
        report(0, 0, 200);
        move();
    }
    CHECK_EQ(on_node(1), (LEAF_ENTRIES - 208) / 2); /* whole blocks come */
    end();
}

TEST(seen_joined_stays, "a part of a joined block that has been told to stay is no reason to move the block again")
{
    begin_with("nemo", 0);
    put_pages(0, LEAF_ENTRIES, 1);
    policies[1] = (struct policy){.mode = POLICY_BIND, .flags = FOLLOWS("none"), .nodes = 7};
    CHECK_EQ(area_set(&space.areas, START + 64 * PAGE_SIZE, START + 125 * PAGE_SIZE,
                      AREA_READ | AREA_WRITE | 1u << AREA_POLICY_SHIFT),
             0);
    CHECK_EQ(area_set_backed(&space.areas, START + 125 * PAGE_SIZE, START + 128 * PAGE_SIZE, AREA_READ,
                             backing_make(0, BACKING_VDSO, 0)),
             0);
    for (uint32_t look = 0; look < 30; look++) {
        report(0, 0, LEAF_ENTRIES);
        move();
    }
    CHECK_EQ(on_node(1), 64);
    CHECK_EQ(on_node(0), LEAF_ENTRIES - 64);
    for (uint32_t look = 0; look < 10; look++)
        report(0, 0, LEAF_ENTRIES);
    CHECK_EQ(space.seen->wanted, 0);
    end();
}

/* A block that is to move, and then gets the policy NAME of its own. */
static void stays_with(const char *name, bool again)
{
    begin_with("nemo", SEEN_BLOCK_PAGES * PAGE_SIZE);
    put_pages(0, LEAF_ENTRIES, 0);
    report(1, 0, LEAF_ENTRIES);
    CHECK_EQ(space.seen->wanted, LEAF_ENTRIES / SEEN_BLOCK_PAGES);
    policies[1] = (struct policy){.mode = POLICY_BIND, .flags = FOLLOWS(name), .nodes = 7};
    CHECK_EQ(area_set(&space.areas, START, START + 64 * PAGE_SIZE, AREA_READ | AREA_WRITE | 1u << AREA_POLICY_SHIFT),
             0);
    CHECK_EQ(seen_may_follow(&space, START), 0);
    CHECK(seen_may_follow(&space, START + 64 * PAGE_SIZE) != 0);
    if (again) {
        report(1, 0, 64);
        CHECK_EQ(space.seen->wanted, (LEAF_ENTRIES - 64) / SEEN_BLOCK_PAGES);
    }
    CHECK_EQ(move(), LEAF_ENTRIES - 64);
    CHECK_EQ(on_node(0), 64);
}

TEST(seen_told_to_stay, "memory that gets a policy by which nothing moves stays from then on, also if it was to move")
{
    stays_with("none", false);
    stays_with("none", true);
    stays_with("first-touch", false);
    stays_with("first-touch", true);
    end();
}

/* Node 1 alone uses the first block, for longer than a look shows what is new. */
static void use_alone(void)
{
    for (uint32_t look = 0; look < 20; look++)
        report(1, 0, 16);
}

TEST(seen_spends, "what has cost more than was saved is paid off before kettle moves more; other policies go on")
{
    static const char *const all[] = {"kettle", "nemo"};

    for (uint32_t i = 0; i < 2; i++) {
        uint64_t cost = seen_half_ns, refused = space.stats.seen_refused;
        bool bounded = i == 0;

        begin_with(all[i], SEEN_BLOCK_PAGES * PAGE_SIZE);
        put_pages(0, 16, 0);
        space.account = (struct seen_account){0};
        space.members = 1;
        CHECK(seen_spend(&space, 0));
        CHECK_EQ(seen_spend(&space, cost), !bounded);
        use_alone();
        CHECK_EQ(move(), bounded ? 0 : 16);
        CHECK_EQ(answer.soon, !bounded);
        CHECK_EQ(space.stats.seen_refused != refused, bounded);
        put_pages(0, 16, 0);
        now += seen_moves.part * cost;
        CHECK(seen_spend(&space, 0));
        use_alone();
        CHECK_EQ(move(), 16);
        end();
    }
    space.account = (struct seen_account){0};
    space.members = 0;
}

TEST(seen_comes_back, "what moves again and again says how often it has, and as a range with what has come but once")
{
    uint64_t start, bytes;
    uint32_t node, moves;

    begin_with("nemo", SEEN_BLOCK_PAGES * PAGE_SIZE);
    for (uint32_t i = 0; i < SEEN_DEAR + 3; i++) {
        put_pages(0, 32, 0);
        report(1, 0, i == SEEN_DEAR + 2 ? 32 : 16);
        CHECK(seen_next(&space, &start, &bytes, &node, &moves));
        CHECK_EQ(moves, i < SEEN_DEAR ? i : SEEN_DEAR);
        CHECK(!seen_next(&space, &start, &bytes, &node, &moves));
    }
    CHECK_EQ(bytes, 32 * PAGE_SIZE);
    end();
}

TEST(seen_copies_in_no_load, "a block with copies is in no node's load, until it is written or could not have any")
{
    uint64_t start, bytes;
    uint32_t node, moves;

    begin_with("kettle", SEEN_BLOCK_PAGES * PAGE_SIZE);
    put_pages(0, 16, 0);
    for (uint32_t look = 0; space.seen == NULL || space.seen->wanted == 0; look++) {
        CHECK(look < 40);
        report(look % 2, 0, 16);
    }
    CHECK(space.seen->load[0] != 0);
    CHECK(seen_next(&space, &start, &bytes, &node, &moves));
    CHECK_EQ(node, SEEN_REPLICATE);
    CHECK_EQ(space.seen->load[0], 0);
    report(1, 0, 16);
    CHECK_EQ(space.seen->load[0], 0);
    seen_not_replicated(&space, start, start + bytes);
    report(0, 0, 16);
    report(1, 0, 16);
    CHECK(space.seen->load[0] != 0);
    end();
}

TEST(seen_shared, "the answer says whether others have a share of an eighth in what was used, as long as they have one")
{
    begin_with("first-touch", SEEN_BLOCK_PAGES * PAGE_SIZE);
    put_pages(0, LEAF_ENTRIES, 0);
    CHECK(!report(0, 0, 256) && answer.soon == 0);
    CHECK(report(1, 0, 16)); /* all that it uses */
    CHECK(report(0, 0, 16 * SEEN_PART));
    CHECK(!report(0, 0, 16 * (SEEN_PART + 1)));
    CHECK(report(2, 500, 501) && answer.soon != 0);
    for (uint32_t look = 0; look < 60; look++)
        report(0, 0, 16);
    CHECK(!report(0, 0, 16) && answer.soon == 0); /* nobody else any more */
    end();
}

TEST(seen_lists, "each report of a message has a bit of its own, and one that is wrong or late is left out")
{
    struct msg_space_seen seen[4] = {
        {.start = START, .node = 1},
        {.start = START + 1, .node = 1},
        {.start = START, .node = 1},
        {.start = START + LEAF_SIZE, .node = 1},
    };

    begin_with("nemo", SEEN_BLOCK_PAGES * PAGE_SIZE);
    for (uint32_t i = 0; i < 4; i++)
        seen[i].space = space.id + (i == 2);
    put_pages(0, 16, 0);
    put_page(START + LEAF_SIZE, 1, 0);
    for (uint32_t i = 0; i < 4; i++)
        seen_add(&seen[i], 0);
    tell_all(seen, 4);
    CHECK_EQ(answer.soon, 1);
    CHECK_EQ(answer.shared, 1);
    seen[3].node = 2;
    tell_all(seen, 4);
    CHECK_EQ(answer.shared, 9);
    space.home = 1; /* it has moved */
    tell_all(seen, 4);
    CHECK(answer.shared == 0 && answer.soon == 0);
    space.home = 0;
    end();
}

TEST(seen_tells,
     "kernels of whose node's memory others begin to use some are told to look soon, once, and this one looks")
{
    static const struct plan_kernel kernels[] = {{.node = 0}, {.node = 0}, {.node = 1}, {.node = 1}, {.node = 2}};

    begin_with("kettle", SEEN_BLOCK_PAGES * PAGE_SIZE);
    instance.plan.kernel_count = 5;
    for (uint32_t kernel = 0; kernel < 5; kernel++)
        instance.plan.kernels[kernel].node = kernels[kernel].node;
    space.members = 0x17; /* not 3 */
    seen_soon = note_soon;
    put_pages(0, 16, 1);
    put_pages(16, 64, 0);
    CHECK_EQ(seen_to_tell(&space), 0);
    report(1, 0, 16);
    CHECK_EQ(seen_to_tell(&space), 0); /* its own */
    CHECK_EQ(soon, 0);
    report(2, 0, 16);
    CHECK_EQ(soon, 1);
    CHECK_EQ(seen_to_tell(&space), 1 << 2);
    report(2, 0, 16);
    CHECK_EQ(seen_to_tell(&space), 0);
    report(2, 16, 64);
    CHECK_EQ(seen_to_tell(&space), 1 << 1); /* another kernel of this node */
    seen_tell(0x14, space.id);
    CHECK_EQ(notified, 0x14);
    seen_soon = NULL;
    end();
}

TEST(seen_split_meanwhile, "a replication that fails after its block has split is noted for all of its parts")
{
    uint64_t start, bytes;
    uint32_t node, moves, known = 0;

    begin_with("replicate", 0);
    put_pages(0, 16, 0);
    for (uint32_t look = 0; space.seen == NULL || space.seen->wanted == 0; look++) {
        CHECK(look < 40);
        report(1 + look % 2, 0, 16);
    }
    CHECK(seen_next(&space, &start, &bytes, &node, &moves));
    CHECK(node == SEEN_REPLICATE && bytes == 16 * PAGE_SIZE);
    for (uint32_t look = 0; look < REGION_SURE; look++) {
        report(1, 0, 8);
        report(2, 8, 16);
    }
    CHECK(space.stats.seen_splits != 0);
    seen_not_replicated(&space, start, start + bytes);
    for (uint32_t i = 0; i < space.seen->places; i++) {
        const struct seen_block *block = seen_block_at(space.seen, i);

        known += block->number != 0;
        CHECK(block->number == 0 || (!block->replicated && block->written == SEEN_WRITTEN));
    }
    CHECK(known > 1);
    end();
}

/* Kernels 0 and 1 are on node 0, 2 on node 1 and 3 on node 2. KERNEL has written the first COUNT pages. */
static void write_from(uint32_t kernel, uint32_t count)
{
    struct msg_space_seen seen = {.space = space.id,
                                  .start = START,
                                  .node = (uint16_t)instance.plan.kernels[kernel].node,
                                  .kernel = (uint16_t)kernel,
                                  .written = UINT32_MAX};

    for (uint32_t page = 0; page < count; page++)
        seen_add(&seen, page);
    tell(&seen);
}

/* Returns whether threads are to move, as *DRAW says. */
static bool draw_next(struct seen_draw *draw)
{
    struct seen_search search = {0};
    uint32_t parts = 1;

    while (seen_draw_next(&space, &search))
        parts++;
    CHECK(parts <= (instance.plan.kernel_count + 7) / 8);
    *draw = search.draw;
    return search.found;
}

/* A period in which KERNELS, a bit for each, write the first COUNT pages. Returns whether threads are to move. */
static bool period(uint32_t kernels, uint32_t count, struct seen_draw *draw)
{
    for (uint32_t look = 0; look < 10; look++) {
        for (uint32_t kernel = 0; kernel < 4; kernel++) {
            if ((kernels >> kernel & 1) != 0)
                write_from(kernel, count);
        }
        now += LOOK;
    }
    return draw_next(draw);
}

static void begin_drawing(const char *policy)
{
    begin_with(policy, SEEN_BLOCK_PAGES * PAGE_SIZE);
    instance.plan.kernel_count = 4;
    for (uint32_t kernel = 2; kernel < 4; kernel++)
        instance.plan.kernels[kernel].node = kernel - 1;
    put_pages(0, LEAF_ENTRIES, 0);
    seen_room = 1;
}

TEST(seen_draws_threads, "a kernel whose threads use what others have on their node is asked to let one go there")
{
    struct seen_draw draw;

    begin_drawing("kettle");
    period(1 << 0 | 1 << 2, 64, &draw); /* not all users are known from the beginning */
    CHECK(period(1 << 0 | 1 << 2, 64, &draw));
    CHECK_EQ(draw.kernel, 2);
    CHECK_EQ(draw.node, 0);
    CHECK_EQ(draw.part, DRAW_WHOLE / 2);
    CHECK(!draw_next(&draw)); /* once in a period */
    CHECK(space.stats.draws_wanted != 0);
    CHECK_EQ(on_node(0), LEAF_ENTRIES);
    end();
}

/* 64 kernels on as many nodes. */
static void begin_drawing_many(void)
{
    begin_drawing("kettle");
    instance.plan.node_count = instance.plan.kernel_count = 64;
    for (uint32_t kernel = 0; kernel < 64; kernel++) {
        instance.plan.kernels[kernel].node = kernel;
        for (uint32_t node = 0; node < 64; node++)
            instance.plan.distance[kernel][node] = node == kernel ? 10 : 20;
    }
}

/* A period in which the first and the last of them write the same. */
static void write_from_both(void)
{
    for (uint32_t look = 0; look < 10; look++, now += LOOK) {
        write_from(0, 64);
        write_from(63, 64);
    }
}

TEST(seen_draws_many, "of 64 kernels on as many nodes any may be asked, although they are not gone through at once")
{
    struct seen_search search = {0};
    struct seen_draw draw;
    uint32_t parts = 1;

    begin_drawing_many();
    for (uint32_t round = 0; round < 2; round++) {
        search = (struct seen_search){0};
        write_from_both();
        for (parts = 1; seen_draw_next(&space, &search);)
            parts++;
    }
    CHECK_EQ(parts, 8);
    CHECK(search.found);
    CHECK_EQ(search.draw.kernel, 63);
    CHECK_EQ(search.draw.node, 0);
    /* What is reported between the parts is no news where threads may be drawn, and is not forgotten. */
    for (uint32_t look = 0; look < 10; look++, now += LOOK)
        write_from(63, 64);
    seen_soon = note_soon;
    soon = 0;
    search = (struct seen_search){0};
    CHECK(seen_draw_next(&space, &search));
    write_from(63, 64);
    CHECK(seen_draws(&space));
    while (seen_draw_next(&space, &search))
        CHECK(seen_draws(&space));
    CHECK(seen_draws(&space));
    CHECK_EQ(soon, 0);
    seen_soon = NULL;
    now += 10 * LOOK;
    search = (struct seen_search){0};
    CHECK(seen_draw_next(&space, &search));
    CHECK(seen_draw_next(&space, &search)); /* the tally of kernel 1 has been read */
    write_from(0, 64);
    write_from(1, 64);
    while (seen_draw_next(&space, &search))
        ;
    CHECK(seen_draws(&space));
    now += 10 * LOOK;
    draw_next(&draw); /* what was noted after it was read */
    now += 10 * LOOK;
    draw_next(&draw);
    CHECK(!seen_draws(&space));
    end();
}

TEST(seen_draws_anew,
     "a search ends whose table is made anew between two parts, and the new one's first tallies are not used")
{
    struct seen_search search = {0};
    struct seen_draw draw;

    begin_drawing_many();
    write_from_both();
    CHECK(!draw_next(&draw));
    write_from_both();
    CHECK(seen_draw_next(&space, &search));
    seen_destroy(&space);
    write_from(0, 64);
    write_from(63, 64);
    CHECK(!seen_draw_next(&space, &search));
    CHECK(!search.found);
    CHECK(!draw_next(&draw));
    write_from_both();
    CHECK(draw_next(&draw));
    CHECK_EQ(draw.kernel, 63);
    end();
}

TEST(seen_draws_watched, "where threads may be drawn the home looks at once, and goes on until none is for a period")
{
    struct seen_draw draw;

    begin_drawing("kettle");
    period(1 << 2, 64, &draw);
    CHECK(!seen_draws(&space));
    seen_soon = note_soon;
    soon = 0;
    write_from(0, 64);
    CHECK(seen_draws(&space) && soon == 1);
    write_from(2, 64);
    CHECK_EQ(soon, 1); /* once */
    seen_soon = NULL;
    period(1 << 2, 64, &draw);
    CHECK(seen_draws(&space));
    for (uint32_t at = 0; at < 3; at++)
        period(1 << 2, 64, &draw);
    CHECK(!seen_draws(&space));
    end();
}

TEST(seen_draws_far, "a thread is drawn to who looks five periods apart, as well")
{
    struct seen_draw draw;
    bool drawn = false;

    begin_drawing("kettle");
    for (uint32_t at = 0; at < 4; at++) {
        write_from(2, 64);
        now += 2 * seen_half_ns;
        write_from(0, 64);
        now += 3 * seen_half_ns;
        drawn = draw_next(&draw);
    }
    CHECK(drawn && draw.kernel == 2 && draw.node == 0);
    end();
}

TEST(seen_draws_adaptive, "with blocks that adapt, memory without records keeps a thread where it is, too")
{
    struct seen_draw draw;
    uint32_t drawn = 0;

    for (uint32_t own = 0; own < 2; own++) {
        bool any = false;

        begin_drawing("kettle");
        seen_block_bytes = 0;
        for (uint32_t at = 0; at < 4; at++) {
            struct msg_space_seen seen = {
                .space = space.id, .start = START + LEAF_SIZE, .node = 1, .kernel = 2, .written = UINT32_MAX};

            for (uint32_t page = 0; page < LEAF_ENTRIES; page++)
                seen_add(&seen, page);
            put_page(START + LEAF_SIZE, 1, 0);
            for (uint32_t look = 0; own != 0 && look < 10; look++)
                tell(&seen);
            any |= period(1 << 0 | 1 << 2, 64, &draw);
        }
        drawn |= (uint32_t)any << own;
    }
    CHECK_EQ(drawn, 1);
    end();
}

TEST(seen_draws_quiet,
     "after a thread was ordered to move, none is for five periods; after a refusal none of that kernel")
{
    struct seen_draw draw;
    uint32_t quiet = 0;

    begin_drawing("kettle");
    period(1 << 0 | 1 << 2, 64, &draw);
    CHECK(period(1 << 0 | 1 << 2, 64, &draw));
    seen_drawn(&space, &draw, true);
    CHECK_EQ(space.stats.threads_drawn, 1);
    while (!period(1 << 0 | 1 << 2, 64, &draw))
        quiet++;
    CHECK_EQ(quiet, 4);
    seen_drawn(&space, &draw, false);
    CHECK_EQ(space.stats.threads_drawn, 1);
    quiet = 0;
    while (!period(1 << 0 | 1 << 2 | 1 << 3, 64, &draw))
        quiet++;
    CHECK_EQ(draw.kernel, 3); /* another one may still go */
    seen_drawn(&space, &draw, false);
    for (quiet = 0; !period(1 << 0 | 1 << 2, 64, &draw); quiet++)
        CHECK(quiet < 2 * SEEN_STUCK);
    CHECK_EQ(draw.kernel, 2);
    end();
}

/* Nobody is on the memory's node; the two threads are on kernels 2 and 3. One of them leaves at the end of the period
 * after it was ordered to, and the next look of its kernel still finds the bits of its last accesses. */
TEST(seen_draws_passing, "who has stayed is not sent after a thread that has come, to where that one was")
{
    struct seen_draw draw;
    uint32_t stays;

    begin_drawing("kettle");
    period(1 << 2 | 1 << 3, 64, &draw);
    CHECK(period(1 << 2 | 1 << 3, 64, &draw));
    CHECK(draw.kernel == 2 || draw.kernel == 3);
    stays = draw.kernel ^ 1;
    CHECK_EQ(draw.node, instance.plan.kernels[stays].node);
    seen_drawn(&space, &draw, true);
    CHECK(!period(1 << 2 | 1 << 3, 64, &draw));
    write_from(stays ^ 1, 64);
    for (uint32_t periods = 0; periods < 2 * SEEN_STUCK; periods++)
        CHECK(!period(1 << stays, 64, &draw));
    end();
}

TEST(seen_draws_none, "with other policies, of one user, or of pages here and there, no threads are to move")
{
    static const char *const names[] = {"nemo", "share", "first-touch", "replicate"};
    struct seen_draw draw;

    for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        begin_drawing(names[i]);
        for (uint32_t round = 0; round < 4; round++)
            CHECK(!period(1 << 0 | 1 << 2, 64, &draw));
    }
    begin_drawing("kettle");
    for (uint32_t round = 0; round < 4; round++)
        CHECK(!period(1 << 2, 64, &draw));
    begin_drawing("kettle");
    for (uint32_t round = 0; round < 4; round++)
        CHECK(!period(1 << 0 | 1 << 2, 1, &draw));
    end();
}

TEST(seen_waits_for_threads, "what several write is spread later where a CPU is free for them, and then nevertheless")
{
    uint32_t spread[2] = {0};

    for (uint32_t free = 0; free < 2; free++) {
        begin_drawing("kettle");
        seen_room = free;
        while (on_node(0) == LEAF_ENTRIES && spread[free] < 100) {
            write_from(0, 256);
            write_from(2, 256);
            now += LOOK;
            spread[free]++;
            move();
        }
    }
    CHECK(spread[0] >= 10);
    CHECK(spread[1] >= spread[0] + 9 && spread[1] <= spread[0] + 11);
    end();
}
