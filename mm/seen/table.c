/* The home's table of blocks. See the header. */
#include "mm/seen/table.h"

#include "kernel/arch/x86_64/clock.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "mm/seen/seen.h"
#include "mm/space/entry.h"
#include "msg/message.h"

#define PLACES_FIRST 64u
#define PLACES_MOST (1u << 13) /* half of them are used: 256 MiB of memory that other nodes use in the usual blocks */
#define REGIONS_MOST 1024u     /* 2 GiB */
#define AGED_AT_ONCE 4u        /* places whose blocks grow old at once */
#define BLOCK_MOST (sizeof(struct seen_block) + NODES_MAX * sizeof(uint16_t))

static struct seen_tables tables; /* [a] */

void seen_count(struct seen_tables *out)
{
    out->small = __atomic_load_n(&tables.small, __ATOMIC_RELAXED);
    out->large = __atomic_load_n(&tables.large, __ATOMIC_RELAXED);
}

static uint32_t nodes(void)
{
    return instance.plan.node_count;
}

static size_t block_size(void)
{
    return (sizeof(struct seen_block) + nodes() * sizeof(uint16_t) + 7) & ~7ul;
}

static size_t table_size(uint32_t places)
{
    return sizeof(struct seen) + places * block_size();
}

static void *allocate(size_t size)
{
    void *object = heap_alloc(size); /* zeros */

    if (object != NULL)
        __atomic_fetch_add(size > PAGE_SIZE / 2 ? &tables.large : &tables.small, 1, __ATOMIC_RELAXED);
    return object;
}

static void release(void *object, size_t size)
{
    __atomic_fetch_sub(size > PAGE_SIZE / 2 ? &tables.large : &tables.small, 1, __ATOMIC_RELAXED);
    heap_free(object, size);
}

struct seen_block *seen_block_at(struct seen *seen, uint32_t place)
{
    return (struct seen_block *)(void *)(seen->blocks + place * block_size());
}

static uint32_t home_of(const struct seen *seen, uint64_t number)
{
    return ((uint32_t)(number * 0x9e3779b97f4a7c15ull >> 40) + 1) & (seen->places - 1);
}

static uint32_t find_place(struct seen *seen, uint64_t number)
{
    uint32_t place = home_of(seen, number);

    while (seen_block_at(seen, place)->number != 0 && seen_block_at(seen, place)->number != number)
        place = (place + 1) & (seen->places - 1);
    return place;
}

struct seen_block *seen_find(struct seen *seen, uint64_t number)
{
    return seen_block_at(seen, find_place(seen, number));
}

/* BLOCK, whose record is made or removed, counts for the node that was seen last, or no longer. */
static void count_last(struct seen *seen, const struct seen_block *block, uint32_t more)
{
    if (block->last != SEEN_NOBODY)
        seen->last[block->last] += more; /* modulo 2^32: it may become less */
}

void seen_set_last(struct seen *seen, struct seen_block *block, uint32_t node)
{
    count_last(seen, block, UINT32_MAX);
    block->last = (uint8_t)node;
    count_last(seen, block, 1);
}

/* The blocks behind it that are not where they would be first come nearer, so that all are found. */
static void remove_block(struct seen *seen, uint64_t number)
{
    uint32_t mask = seen->places - 1, hole = find_place(seen, number);
    struct seen_block *block = seen_block_at(seen, hole);

    seen_block_leave(block, seen->load);
    count_last(seen, block, UINT32_MAX);
    seen->wanted -= block->wanted != SEEN_NOBODY;
    seen->count--;
    for (uint32_t at = (hole + 1) & mask; (block = seen_block_at(seen, at))->number != 0; at = (at + 1) & mask) {
        if (((at - home_of(seen, block->number)) & mask) < ((at - hole) & mask))
            continue;
        memcpy(seen_block_at(seen, hole), block, block_size());
        hole = at;
    }
    memset(seen_block_at(seen, hole), 0, block_size());
}

static void forget_regions(struct seen *seen)
{
    for (uint32_t i = 0; i < SEEN_CHAINS; i++) {
        while (seen->regions[i] != NULL) {
            struct seen_region *region = seen->regions[i];

            seen->regions[i] = region->next;
            release(region, sizeof(*region));
        }
    }
    seen->region_count = 0;
}

static void forget(struct seen *seen)
{
    forget_regions(seen);
    for (uint32_t kernel = 0; kernel < KERNELS_MAX; kernel++) {
        if (seen->tallies[kernel] != NULL)
            seen_tally_clear(seen->tallies[kernel], nodes());
    }
    memset(seen->blocks, 0, seen->places * block_size());
    memset(seen->load, 0, sizeof(seen->load));
    memset(seen->last, 0, sizeof(seen->last));
    seen->count = seen->wanted = 0;
    seen->tally_age = 0; /* the next tallies are the first ones */
    seen->forgotten = clock_now();
}

void seen_destroy(struct space *space)
{
    if (space->seen == NULL)
        return;
    forget_regions(space->seen);
    for (uint32_t kernel = 0; kernel < KERNELS_MAX; kernel++) {
        if (space->seen->tallies[kernel] != NULL)
            release(space->seen->tallies[kernel], seen_tally_size(nodes()));
    }
    release(space->seen, table_size(space->seen->places));
    space->seen = NULL;
}

static uint64_t unit_of(uint64_t bytes)
{
    return bytes != 0 ? bytes : PAGE_SIZE;
}

void seen_forget_others(struct space *space, uint64_t bytes)
{
    const struct seen *seen = space->seen;

    if (seen != NULL && (seen->unit != unit_of(bytes) || seen->adaptive != (bytes == 0)))
        seen_destroy(space);
}

struct seen *seen_table(struct space *space, uint64_t bytes)
{
    seen_forget_others(space, bytes);
    if (space->seen == NULL) {
        space->seen = allocate(table_size(PLACES_FIRST));
        if (space->seen == NULL)
            return NULL;
        space->seen->places = PLACES_FIRST;
        space->seen->unit = unit_of(bytes);
        space->seen->adaptive = bytes == 0;
    }
    return space->seen;
}

bool seen_make_room(struct space *space, uint32_t more)
{
    struct seen *old = space->seen, *larger;
    uint32_t places = old->places;

    while (old->count + more > places / 2)
        places *= 2;
    if (places == old->places)
        return true;
    if (places > PLACES_MOST) {
        forget(old);
        return true;
    }
    larger = allocate(table_size(places));
    if (larger == NULL)
        return false;
    memcpy(larger, old, sizeof(*old));
    larger->places = places;
    for (uint32_t i = 0; i < old->places; i++) {
        const struct seen_block *block = seen_block_at(old, i);

        if (block->number != 0)
            memcpy(seen_find(larger, block->number), block, block_size());
    }
    release(old, table_size(old->places));
    space->seen = larger;
    return true;
}

struct seen_block *seen_make(struct seen *seen, struct seen_place place, uint32_t age)
{
    struct seen_block *block = seen_find(seen, place.number);

    *block = (struct seen_block){.number = place.number,
                                 .size = (uint16_t)place.size,
                                 .since = clock_now(),
                                 .age = age,
                                 .told = age,
                                 .last = SEEN_NOBODY,
                                 .wanted = SEEN_NOBODY,
                                 .tried = SEEN_NOBODY,
                                 .load = SEEN_NOBODY};
    seen->count++;
    return block;
}

void seen_age(struct seen *seen, struct seen_block *block, uint32_t age)
{
    seen_block_age(block, nodes(), seen->load, age);
}

struct seen_tally *seen_tally_of(struct seen *seen, uint32_t kernel)
{
    if (seen->tallies[kernel] == NULL)
        seen->tallies[kernel] = allocate(seen_tally_size(nodes()));
    return seen->tallies[kernel];
}

/* So that those that nobody reports any more leave the loads of nodes; each once in a period. */
void seen_grow_old(struct seen *seen, uint32_t age)
{
    if (seen->grown_age != age) {
        seen->grown_age = age;
        seen->grown = 0;
    }
    for (uint32_t i = 0; i < AGED_AT_ONCE && seen->grown < seen->places; i++, seen->grown++) {
        struct seen_block *block = seen_block_at(seen, seen->aged);

        seen->aged = (seen->aged + 1) & (seen->places - 1);
        if (block->number != 0)
            seen_age(seen, block, age);
    }
}

/* --- blocks that adapt --- */

struct seen_region *seen_region_of(struct seen *seen, uint64_t address)
{
    uint64_t number = address / LEAF_SIZE;
    struct seen_region *region = seen->regions[number % SEEN_CHAINS];

    while (region != NULL && region->number != number)
        region = region->next;
    return region;
}

struct seen_region *seen_region_make(struct space *space, uint64_t address)
{
    struct seen *seen = space->seen;
    struct seen_region **chain = &seen->regions[address / LEAF_SIZE % SEEN_CHAINS], *region;

    if (seen->region_count == REGIONS_MOST) {
        forget(seen);
        return NULL;
    }
    region = allocate(sizeof(*region));
    if (region == NULL)
        return NULL;
    seen_region_begin(region);
    region->number = address / LEAF_SIZE;
    region->next = *chain;
    *chain = region;
    seen->region_count++;
    return region;
}

struct seen_place seen_place_of(struct seen *seen, uint64_t address)
{
    struct seen_place place = {address / seen->unit + 1, 1};
    const struct seen_region *region = seen->adaptive ? seen_region_of(seen, address) : NULL;
    uint32_t page = (uint32_t)(address / PAGE_SIZE % REGION_PAGES), first = page & ~(REGION_USUAL - 1);

    if (!seen->adaptive)
        return place;
    place.size = REGION_USUAL;
    if (region != NULL)
        first = seen_region_block(region->starts, page, &place.size);
    place.number -= page - first;
    return place;
}

struct seen_place seen_before(struct seen *seen, struct seen_place place)
{
    uint64_t start = seen_start(seen, place);

    return start != 0 ? seen_place_of(seen, start - 1) : (struct seen_place){0, 0};
}

struct seen_place seen_after(struct seen *seen, struct seen_place place)
{
    return seen_place_of(seen, seen_start(seen, place) + seen_bytes(seen, place));
}

/* A block of a region as it is now, of which some other blocks have become. */
struct part {
    uint64_t base; /* the number of the region's first page */
    uint32_t first, count;
    uint32_t age;
};

/* What is known of the larger block OLD, of which PART has been one, to COPY. False: nothing, as nobody has used it. */
static bool take_part(struct seen *seen, const struct seen_region *region, const struct part *part, uint32_t old,
                      struct seen_block *copy)
{
    struct seen_block *block = seen_find(seen, part->base + old);
    uint64_t users = seen_region_users(region, part->first, part->count, part->age);

    if (block->number == 0)
        return false;
    seen_age(seen, block, part->age);
    memcpy(copy, block, block_size());
    for (uint32_t node = 0; node < nodes(); node++)
        copy->used[node] = (users >> node & 1) != 0 ? copy->used[node] : 0;
    for (uint32_t kernel = 0; kernel < instance.plan.kernel_count; kernel++) {
        if ((users >> instance.plan.kernels[kernel].node & 1) == 0) {
            copy->kernels[0] &= ~(1ull << kernel);
            copy->kernels[1] &= ~(1ull << kernel);
        }
    }
    if (old == part->first) /* the last one */
        remove_block(seen, part->base + old);
    return users != 0;
}

/* What is known of the smaller blocks, by STARTS, which have become PART, to COPY: counts as if all had been seen as
 * one. False: nothing. */
static bool take_all(struct seen *seen, const uint64_t *starts, const struct part *part, struct seen_block *copy)
{
    uint32_t sums[NODES_MAX] = {0}, count;
    bool known = false;

    for (uint32_t page = part->first; page < part->first + part->count; page += count) {
        struct seen_block *block = seen_find(seen, part->base + page);

        seen_region_block(starts, page, &count);
        if (block->number == 0)
            continue;
        seen_age(seen, block, part->age);
        for (uint32_t node = 0; node < nodes(); node++)
            sums[node] += block->used[node] * count;
        if (!known)
            memcpy(copy, block, block_size());
        known = true;
        copy->since = block->since < copy->since ? block->since : copy->since;
        copy->written = block->written > copy->written ? block->written : copy->written;
        copy->replicated &= block->replicated;
        copy->kernels[0] |= block->kernels[0];
        copy->kernels[1] |= block->kernels[1];
        remove_block(seen, part->base + page);
    }
    for (uint32_t node = 0; node < nodes(); node++)
        copy->used[node] = (uint16_t)(sums[node] / part->count);
    return known;
}

/* Gives the block PART of REGION, whose blocks were STARTS before, the record that it has now. Where it is to be is
 * decided anew, and how long it has had several users is counted anew. */
static void inherit(struct space *space, struct seen_region *region, const uint64_t *starts, const struct part *part)
{
    uint64_t room[BLOCK_MOST / sizeof(uint64_t) + 1] = {0};
    struct seen_block *copy = (struct seen_block *)(void *)room;
    struct seen *seen = space->seen;
    uint32_t count, old = seen_region_block(starts, part->first, &count);
    bool known;

    if (count == part->count)
        return;
    if (count > part->count) {
        space->stats.seen_splits++;
        known = take_part(seen, region, part, old, copy);
    } else {
        space->stats.seen_joins++;
        known = take_all(seen, starts, part, copy);
    }
    if (!known)
        return;
    copy->number = part->base + part->first;
    copy->size = (uint16_t)part->count;
    copy->wanted = SEEN_NOBODY;
    copy->load = SEEN_NOBODY;
    copy->weight = 0;
    memcpy(seen_find(seen, copy->number), copy, block_size());
    count_last(seen, copy, 1);
    seen->count++;
}

static uint32_t bits(const uint64_t *starts)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < REGION_PAGES / 64; i++)
        count += kernel_set_count(starts[i]);
    return count;
}

bool seen_adapt(struct space *space, struct seen_region *region, uint32_t age)
{
    uint64_t starts[REGION_PAGES / 64], address = region->number * LEAF_SIZE;
    struct part part = {.base = address / PAGE_SIZE + 1, .age = age};

    memcpy(starts, region->starts, sizeof(starts));
    if (!seen_region_divide(region, age))
        return true;
    if (!seen_make_room(space, bits(region->starts))) {
        memcpy(region->starts, starts, sizeof(starts));
        return false;
    }
    if (seen_region_of(space->seen, address) == NULL)
        return false;
    /* From the last block to the first: that one has the place of the block that they have been. */
    for (uint32_t end = REGION_PAGES; end > 0; end = part.first) {
        part.first = seen_region_block(region->starts, end - 1, &part.count);
        inherit(space, region, starts, &part);
    }
    return true;
}
