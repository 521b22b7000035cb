/* The directory of a space: a hash table of the blocks that have marks. See the header. */
#include "mm/directory/sharers.h"

#include <stddef.h>

#include "kernel/lib/string.h"
#include "mm/frame/heap.h"

#define SIZE_MIN 16u
#define SIZE_MAX_BLOCKS 16384u /* places of a table; a larger one would take too long to rebuild in a handler */
#define MARK_MAX 1024u         /* blocks that one call marks, for the same reason */
#define PARTS_BYTES (SHARERS_PARTS * sizeof(kernel_set))

static uint32_t home_of(const struct sharers *map, uint64_t number)
{
    return (uint32_t)(number * 0x9e3779b97f4a7c15ull >> map->shift);
}

/* The place of block NUMBER, or the unused one where it would be. The table has an unused place. */
static inline struct sharers_block *place_of(const struct sharers *map, uint64_t number)
{
    uint32_t i = home_of(map, number);

    while (map->blocks[i].number != 0 && map->blocks[i].number != number)
        i = (i + 1) & (map->size - 1);
    return &map->blocks[i];
}

static struct sharers_block *find(const struct sharers *map, uint64_t number)
{
    struct sharers_block *block = map->size != 0 ? place_of(map, number) : NULL;

    return block != NULL && block->number != 0 ? block : NULL;
}

static bool is_marked(const struct sharers_block *block)
{
    return block->whole != 0 || block->parts != NULL;
}

/* Makes a table with room for one more block, and leaves the blocks without marks out. False: unchanged; there is no
 * memory, or too many blocks are marked. */
static bool rebuild(struct sharers *map)
{
    struct sharers new = {.size = SIZE_MIN, .shift = 60, .everywhere = map->everywhere};
    uint32_t marked = 0;

    for (uint32_t i = 0; i < map->size; i++)
        marked += map->blocks[i].number != 0 && is_marked(&map->blocks[i]);
    for (; 2 * (marked + 1) > new.size; new.size *= 2)
        new.shift--;
    if (new.size > SIZE_MAX_BLOCKS || (new.blocks = heap_alloc(new.size * sizeof(*new.blocks))) == NULL)
        return false;
    for (uint32_t i = 0; i < map->size; i++) {
        const struct sharers_block *block = &map->blocks[i];

        if (block->number != 0 && is_marked(block))
            *place_of(&new, block->number) = *block;
    }
    new.used = marked;
    heap_free(map->blocks, map->size * sizeof(*map->blocks));
    *map = new;
    return true;
}

/* Returns block NUMBER, which is made if there is none. NULL: no memory. */
static struct sharers_block *make(struct sharers *map, uint64_t number)
{
    struct sharers_block *block = find(map, number);

    if (block != NULL)
        return block;
    if (4 * (map->used + 1) > 3 * map->size && !rebuild(map))
        return NULL;
    block = place_of(map, number);
    block->number = number;
    map->used++;
    return block;
}

void sharers_end(struct sharers *map)
{
    for (uint32_t i = 0; i < map->size; i++)
        heap_free(map->blocks[i].parts, PARTS_BYTES);
    heap_free(map->blocks, map->size * sizeof(*map->blocks));
    *map = (struct sharers){0};
}

/* The parts of block NUMBER that [START, END) overlaps: [*FIRST, *LAST). */
static inline void parts_of(uint64_t number, uint64_t start, uint64_t end, uint32_t *first, uint32_t *last)
{
    uint64_t base = (number - 1) * SHARERS_BLOCK;

    *first = start > base ? (uint32_t)((start - base) / SHARERS_PART) : 0;
    *last = end - base < SHARERS_BLOCK ? (uint32_t)((end - base + SHARERS_PART - 1) / SHARERS_PART)
                                       : (uint32_t)SHARERS_PARTS;
}

/* Without memory for the parts, all of the block is marked. */
static void mark_block(struct sharers_block *block, uint64_t start, uint64_t end, kernel_set kernels)
{
    uint32_t first, last;

    if ((kernels & ~block->whole) == 0)
        return;
    parts_of(block->number, start, end, &first, &last);
    if (last - first < SHARERS_PARTS && block->parts == NULL)
        block->parts = heap_alloc(PARTS_BYTES);
    if (last - first == SHARERS_PARTS || block->parts == NULL) {
        block->whole |= kernels;
        return;
    }
    for (; first < last; first++)
        block->parts[first] |= kernels;
}

static uint64_t number_of(uint64_t address)
{
    return address / SHARERS_BLOCK + 1;
}

void sharers_mark(struct sharers *map, uint64_t start, uint64_t end, kernel_set kernels)
{
    kernels &= ~map->everywhere;
    if (kernels == 0 || start >= end)
        return;
    if (number_of(end - 1) - number_of(start) >= MARK_MAX) {
        sharers_mark_all(map, kernels);
        return;
    }
    for (uint64_t number = number_of(start); number <= number_of(end - 1); number++) {
        struct sharers_block *block = make(map, number);

        if (block == NULL) {
            sharers_mark_all(map, kernels);
            return;
        }
        mark_block(block, start, end, kernels);
        map->last = block;
    }
}

static kernel_set block_sharers(const struct sharers_block *block, uint64_t start, uint64_t end)
{
    kernel_set sharers = block->whole;
    uint32_t first, last;

    if (block->parts == NULL)
        return sharers;
    for (parts_of(block->number, start, end, &first, &last); first < last; first++)
        sharers |= block->parts[first];
    return sharers;
}

/* Calls EACH for every block in use that [START, END), which is not empty, overlaps: looks each address up, or goes
 * through the table, whichever is less. */
static void visit(const struct sharers *map, uint64_t start, uint64_t end,
                  void (*each)(struct sharers_block *block, uint64_t start, uint64_t end, kernel_set *set),
                  kernel_set *set)
{
    uint64_t first = number_of(start), last = number_of(end - 1);

    for (uint64_t i = 0; i < map->size && i <= last - first; i++) {
        struct sharers_block *block = last - first < map->size ? find(map, first + i) : &map->blocks[i];

        if (block != NULL && block->number >= first && block->number <= last)
            each(block, start, end, set);
    }
}

static void add_sharers(struct sharers_block *block, uint64_t start, uint64_t end, kernel_set *set)
{
    *set |= block_sharers(block, start, end);
}

kernel_set sharers_in_range(const struct sharers *map, uint64_t start, uint64_t end)
{
    kernel_set sharers = map->everywhere;

    if (start < end)
        visit(map, start, end, add_sharers, &sharers);
    return sharers;
}

/* Frees the parts of BLOCK if none is marked. */
static void trim(struct sharers_block *block)
{
    uint32_t i = 0;

    while (block->parts != NULL && i < SHARERS_PARTS && block->parts[i] == 0)
        i++;
    if (i < SHARERS_PARTS)
        return;
    heap_free(block->parts, PARTS_BYTES);
    block->parts = NULL;
}

static void clear_block(struct sharers_block *block, uint64_t start, uint64_t end, kernel_set *set)
{
    uint32_t first, last;

    (void)set;
    parts_of(block->number, start, end, &first, &last);
    if (last - first < SHARERS_PARTS && block->whole != 0) {
        if (block->parts == NULL && (block->parts = heap_alloc(PARTS_BYTES)) == NULL)
            return;
        for (uint32_t i = 0; i < SHARERS_PARTS; i++)
            block->parts[i] |= block->whole;
    }
    block->whole = 0;
    for (; block->parts != NULL && first < last; first++)
        block->parts[first] = 0;
    trim(block);
}

void sharers_clear(struct sharers *map, uint64_t start, uint64_t end)
{
    if (start < end)
        visit(map, start, end, clear_block, NULL);
}

void sharers_forget(struct sharers *map, kernel_set kernels)
{
    map->everywhere &= ~kernels;
    for (uint32_t i = 0; i < map->size; i++) {
        struct sharers_block *block = &map->blocks[i];

        block->whole &= ~kernels;
        for (uint32_t part = 0; block->parts != NULL && part < SHARERS_PARTS; part++)
            block->parts[part] &= ~kernels;
        trim(block);
    }
}

bool sharers_next(const struct sharers *map, uint64_t *cursor, struct sharers_range *range)
{
    for (; *cursor < map->size * SHARERS_PARTS; ++*cursor) {
        const struct sharers_block *block = &map->blocks[*cursor / SHARERS_PARTS];
        uint64_t part = *cursor % SHARERS_PARTS;

        if (block->number == 0 || (block->parts == NULL && (part != 0 || block->whole == 0)))
            continue;
        range->start = (block->number - 1) * SHARERS_BLOCK + part * SHARERS_PART;
        range->end = range->start + (block->parts == NULL ? SHARERS_BLOCK : SHARERS_PART);
        range->sharers = block->whole | (block->parts != NULL ? block->parts[part] : 0);
        if (range->sharers == 0)
            continue;
        ++*cursor;
        return true;
    }
    return false;
}
