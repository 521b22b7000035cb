/* The memory that may be assigned: usable in the firmware's map, neither reserved there nor busy, above the first
 * megabyte, in whole pages, cut at the boundaries of nodes in the SRAT. The entries may come in any order and
 * overlap. */
#include <stdbool.h>

#include "boot/plan/internal.h"
#include "kernel/abi/errno.h"

#define LOW_END (1ULL << 20) /* memory below it is left to the firmware */

/* The addresses [start, end), in bytes. */
struct span {
    uint64_t start;
    uint64_t end;
};

static uint64_t page_down(uint64_t address)
{
    return address & ~(PAGE_SIZE - 1);
}

/* Rounds up to a page boundary. The last page of the address space has none behind it and is never used. */
static uint64_t page_up(uint64_t address)
{
    return address > UINT64_MAX - (PAGE_SIZE - 1) ? page_down(UINT64_MAX) : page_down(address + PAGE_SIZE - 1);
}

static uint64_t end_of(uint64_t base, uint64_t size)
{
    return size > UINT64_MAX - base ? UINT64_MAX : base + size;
}

/* Returns the whole pages inside a range. */
static struct span span_inside(uint64_t base, uint64_t size)
{
    return (struct span){page_up(base), page_down(end_of(base, size))};
}

/* Returns all pages that a range touches. */
static struct span span_around(uint64_t base, uint64_t size)
{
    if (size == 0)
        return (struct span){0, 0};
    return (struct span){page_down(base), page_up(end_of(base, size))};
}

/* Returns the pages whose first byte is inside a range. */
static struct span span_starting(uint64_t base, uint64_t size)
{
    return (struct span){page_up(base), page_up(end_of(base, size))};
}

/* Returns whether SPAN contains AT. Lowers *NEXT to the first boundary of SPAN above AT. */
static bool span_covers(struct span span, uint64_t at, uint64_t *next)
{
    if (span.start >= span.end || at >= span.end)
        return false;
    uint64_t boundary = at < span.start ? span.start : span.end;
    if (boundary < *next)
        *next = boundary;
    return at >= span.start;
}

/* Determines whether the page at AT is free, its node, and the first address above it where either may change. */
static bool classify(const struct plan_input *input, uint64_t at, uint32_t *node, uint64_t *next)
{
    const struct acpi_topology *topology = input->topology;
    bool usable = false;
    bool taken = false;

    for (uint32_t i = 0; i < input->range_count; i++) {
        const struct boot_range *range = &input->ranges[i];
        if (range->kind == BOOT_MEMORY_USABLE)
            usable |= span_covers(span_inside(range->base, range->size), at, next);
        else
            taken |= span_covers(span_around(range->base, range->size), at, next);
    }
    for (uint32_t i = 0; i < input->busy_count; i++)
        taken |= span_covers(span_around(input->busy[i].base, input->busy[i].size), at, next);

    *node = 0;
    bool node_found = false;
    for (uint32_t i = 0; i < topology->memory_count; i++) {
        const struct acpi_memory *memory = &topology->memory[i];
        if (span_covers(span_starting(memory->base, memory->size), at, next) && !node_found) {
            *node = memory->node;
            node_found = true;
        }
    }
    return usable && !taken;
}

/* Adds a free range behind the others, or to the last one when it continues it. */
static int add_free(struct plan *out, uint64_t base, uint64_t size, uint32_t node)
{
    if (out->range_count > 0) {
        struct plan_range *last = &out->ranges[out->range_count - 1];
        if (last->node == node && last->base + last->size == base) {
            last->size += size;
            return 0;
        }
    }
    if (out->range_count == PLAN_RANGES_MAX)
        return -E2BIG;
    out->ranges[out->range_count++] = (struct plan_range){
        .base = base, .size = size, .node = node, .kernel = PLAN_UNOWNED};
    return 0;
}

/* Walks the address space from boundary to boundary of all entries; each step ends at a different boundary. */
int plan_collect_free(const struct plan_input *input, struct plan *out)
{
    uint64_t at = LOW_END;

    for (;;) {
        uint64_t next = UINT64_MAX;
        uint32_t node;
        bool free = classify(input, at, &node, &next);
        if (next == UINT64_MAX)
            return 0;
        if (free) {
            int failure = add_free(out, at, next - at, node);
            if (failure)
                return failure;
        }
        at = next;
    }
}
