/* Assigns memory to kernels: decides which kernels share the free ranges of each node, then cuts the ranges into
 * shares. The plan's own range table is the workspace: the kernel of a range without an owner is PLAN_UNOWNED. */
#include <stdbool.h>

#include "boot/plan/internal.h"
#include "kernel/abi/errno.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"

#define NO_NODE UINT32_MAX
#define CUT_ALIGN (2ULL << 20)      /* a large page: a cut at such a boundary avoids small mappings on both sides */
#define CUT_SHARE_MIN (16ULL << 20) /* smaller shares are cut at page boundaries, to stay even */

_Static_assert(KERNELS_MAX <= 64, "a set of kernels is one 64-bit word");

static uint64_t page_down(uint64_t address)
{
    return address & ~(PAGE_SIZE - 1);
}

static bool has_memory(const struct plan *plan, uint32_t node)
{
    for (uint32_t i = 0; i < plan->range_count; i++) {
        if (plan->ranges[i].node == node)
            return true;
    }
    return false;
}

/* Returns how many chunks fit into the free ranges of NODE. */
static uint64_t count_chunks(const struct plan *plan, uint32_t node)
{
    uint64_t chunks = 0;

    for (uint32_t i = 0; i < plan->range_count; i++) {
        const struct plan_range *range = &plan->ranges[i];
        if (range->node == node && range->kernel == PLAN_UNOWNED)
            chunks += range->size / plan->chunk_size;
    }
    return chunks;
}

static uint64_t kernels_on(const struct plan *plan, uint32_t node)
{
    uint64_t set = 0;

    for (uint32_t cpu = 0; cpu < plan->cpu_count; cpu++) {
        if (plan->cpus[cpu].node == node && plan->cpus[cpu].kernel >= 0)
            set |= 1ULL << plan->cpus[cpu].kernel;
    }
    return set;
}

static uint32_t set_size(uint64_t set)
{
    uint32_t size = 0;

    for (; set; set &= set - 1)
        size++;
    return size;
}

/* True when node B is nearer to node FROM than A, where A may be NO_NODE. A node is nearest to itself; of equally
 * distant nodes the lower number wins, because callers ask in ascending order. */
static bool nearer(const struct plan *plan, uint32_t from, uint32_t a, uint32_t b)
{
    if (a == NO_NODE || b == from)
        return true;
    return a != from && plan->distance[from][b] < plan->distance[from][a];
}

/* Returns the kernels that get memory of NODE: those with a CPU there, else those of the nearest node with kernels. */
static uint64_t find_sharers(const struct plan *plan, uint32_t node)
{
    uint32_t best = NO_NODE;

    for (uint32_t other = 0; other < plan->node_count; other++) {
        if (!kernels_on(plan, other))
            continue;
        if (best == NO_NODE || other == node ||
            (best != node && plan->distance[other][node] < plan->distance[best][node]))
            best = other;
    }
    return best == NO_NODE ? 0 : kernels_on(plan, best);
}

/* Returns the node nearest to FROM that has room for one more chunk than it has sharers, or NO_NODE. */
static uint32_t find_lender(const struct plan *plan, const uint64_t sharers[NODES_MAX], uint32_t from)
{
    uint32_t best = NO_NODE;

    for (uint32_t node = 0; node < plan->node_count; node++) {
        if (count_chunks(plan, node) > set_size(sharers[node]) && nearer(plan, from, best, node))
            best = node;
    }
    return best;
}

static void decide_sharers(const struct plan *plan, uint64_t sharers[NODES_MAX])
{
    uint64_t served = 0;

    for (uint32_t node = 0; node < plan->node_count; node++) {
        sharers[node] = has_memory(plan, node) ? find_sharers(plan, node) : 0;
        served |= sharers[node];
    }
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        if (served & 1ULL << k)
            continue;
        uint32_t lender = find_lender(plan, sharers, plan->kernels[k].node);
        if (lender != NO_NODE)
            sharers[lender] |= 1ULL << k;
    }
}

/* Returns the node on which kernel K gets its chunk: the nearest of the nodes it shares that has room for one more, or
 * NO_NODE. HOMES are the nodes of the SETTLED kernels. */
static uint32_t choose_home(const struct plan *plan, const uint64_t sharers[NODES_MAX], const uint8_t *homes,
                            uint64_t settled, uint32_t k)
{
    uint32_t best = NO_NODE;

    for (uint32_t node = 0; node < plan->node_count; node++) {
        if (!(sharers[node] & 1ULL << k))
            continue;
        uint64_t used = 0;
        for (uint32_t other = 0; other < plan->kernel_count; other++)
            used += (settled & 1ULL << other) && homes[other] == node;
        if (count_chunks(plan, node) > used && nearer(plan, plan->kernels[k].node, best, node))
            best = node;
    }
    return best;
}

static uint32_t nodes_shared(const struct plan *plan, const uint64_t sharers[NODES_MAX], uint32_t k)
{
    uint32_t nodes = 0;

    for (uint32_t node = 0; node < plan->node_count; node++)
        nodes += (sharers[node] >> k & 1) != 0;
    return nodes;
}

/* Kernels that share one node choose before kernels that share several. */
static int choose_homes(const struct plan *plan, const uint64_t sharers[NODES_MAX], uint8_t *homes, char *error,
                        size_t error_size)
{
    uint64_t settled = 0;

    for (int several = 0; several <= 1; several++) {
        for (uint32_t k = 0; k < plan->kernel_count; k++) {
            if ((nodes_shared(plan, sharers, k) > 1) != several)
                continue;
            uint32_t home = choose_home(plan, sharers, homes, settled, k);
            if (home == NO_NODE) {
                snprintf(error, error_size, "kernel %u on node %u has no room for its chunk of %llu KiB", k,
                         plan->kernels[k].node, (unsigned long long)(plan->chunk_size / 1024));
                return -ENOMEM;
            }
            homes[k] = (uint8_t)home;
            settled |= 1ULL << k;
        }
    }
    return 0;
}

/* The rest of a node is the concatenation of its ranges without an owner. The offsets in the functions below count
 * bytes from its start. */
static uint64_t rest_size(const struct plan *plan, uint32_t node)
{
    uint64_t size = 0;

    for (uint32_t i = 0; i < plan->range_count; i++) {
        if (plan->ranges[i].node == node && plan->ranges[i].kernel == PLAN_UNOWNED)
            size += plan->ranges[i].size;
    }
    return size;
}

/* Returns the lowest cut that leaves a chunk in one piece below it. */
static uint64_t lowest_cut(const struct plan *plan, uint32_t node)
{
    uint64_t offset = 0;

    for (uint32_t i = 0; i < plan->range_count; i++) {
        const struct plan_range *range = &plan->ranges[i];
        if (range->node != node || range->kernel != PLAN_UNOWNED)
            continue;
        if (range->size >= plan->chunk_size)
            return offset + plan->chunk_size;
        offset += range->size;
    }
    return offset;
}

/* Returns the highest cut that leaves room for CHUNKS chunks, each in one piece, above it. */
static uint64_t highest_cut(const struct plan *plan, uint32_t node, uint64_t chunks)
{
    uint64_t offset = rest_size(plan, node);

    for (uint32_t i = plan->range_count; i-- > 0 && chunks > 0;) {
        const struct plan_range *range = &plan->ranges[i];
        if (range->node != node || range->kernel != PLAN_UNOWNED)
            continue;
        uint64_t fit = range->size / plan->chunk_size;
        if (fit >= chunks)
            return offset - chunks * plan->chunk_size;
        chunks -= fit;
        offset -= range->size;
    }
    return offset;
}

/* Moves a cut to the nearest 2 MiB boundary of physical memory, or to an end of the range it falls into. */
static uint64_t align_cut(const struct plan *plan, uint32_t node, uint64_t cut)
{
    uint64_t offset = 0;

    for (uint32_t i = 0; i < plan->range_count; i++) {
        const struct plan_range *range = &plan->ranges[i];
        if (range->node != node || range->kernel != PLAN_UNOWNED)
            continue;
        if (cut - offset > range->size) {
            offset += range->size;
            continue;
        }
        uint64_t address = range->base + (cut - offset);
        uint64_t down = address % CUT_ALIGN;
        uint64_t up = CUT_ALIGN - down;
        if (down <= up)
            return cut - (down < cut - offset ? down : cut - offset);
        uint64_t above = range->size - (cut - offset);
        return cut + (up < above ? up : above);
    }
    return cut;
}

/* Returns the cut for the even share that ends at IDEAL, between LOW and HIGH; with ALIGN, the one that align_cut
 * returns if it is between them. */
static uint64_t choose_cut(const struct plan *plan, uint32_t node, uint64_t ideal, bool align, uint64_t low,
                           uint64_t high)
{
    uint64_t cut = page_down(ideal);
    uint64_t aligned = align ? align_cut(plan, node, cut) : cut;

    if (aligned >= low && aligned <= high)
        return aligned;
    if (cut < low)
        return low;
    return cut > high ? high : cut;
}

/* Gives the first SIZE bytes of a node's rest to KERNEL. */
static int give(struct plan *out, uint32_t node, uint64_t size, uint32_t kernel)
{
    for (uint32_t i = 0; i < out->range_count && size > 0; i++) {
        struct plan_range *range = &out->ranges[i];
        if (range->node != node || range->kernel != PLAN_UNOWNED)
            continue;
        if (size < range->size) {
            if (out->range_count == PLAN_RANGES_MAX)
                return -E2BIG;
            memmove(range + 1, range, (out->range_count - i) * sizeof(*range));
            out->range_count++;
            range[1].base += size;
            range[1].size -= size;
            range->size = size;
        }
        range->kernel = kernel;
        size -= range->size;
    }
    return 0;
}

/* Splits NODE among the kernels of SHARERS; the kernels of NEEDY get room for their chunk here. */
static int split_node(struct plan *out, uint32_t node, uint64_t sharers, uint64_t needy)
{
    uint64_t total = rest_size(out, node);
    uint64_t count = set_size(sharers);
    uint64_t position = 0; /* bytes of the node that have been given away */
    uint64_t number = 0;

    if (count == 0)
        return 0;
    bool align = total / count >= CUT_SHARE_MIN;
    for (uint32_t k = 0; k < out->kernel_count; k++) {
        uint64_t bit = 1ULL << k;
        if (!(sharers & bit))
            continue;
        number++;
        needy &= ~(bit - 1);
        uint64_t low = needy & bit ? lowest_cut(out, node) : 0;
        uint64_t high = highest_cut(out, node, set_size(needy & ~bit));
        uint64_t ideal = total / count * number + total % count * number / count;
        uint64_t left = ideal > position ? ideal - position : 0;
        uint64_t cut = number == count ? high : choose_cut(out, node, left, align, low, high);
        int failure = give(out, node, cut, k);
        if (failure)
            return failure;
        position += cut;
    }
    return 0;
}

static void describe_memory(struct plan *out, const uint8_t *homes)
{
    for (uint32_t k = 0; k < out->kernel_count; k++) {
        struct plan_kernel *kernel = &out->kernels[k];
        bool placed = false;
        for (uint32_t i = 0; i < out->range_count; i++) {
            const struct plan_range *range = &out->ranges[i];
            if (range->kernel != k)
                continue;
            kernel->memory += range->size;
            if (!placed && range->node == homes[k] && range->size >= out->chunk_size) {
                kernel->chunk = range->base;
                placed = true;
            }
        }
    }
}

int plan_assign_memory(const struct plan_input *input, struct plan *out, char *error, size_t error_size)
{
    uint64_t sharers[NODES_MAX] = {0};
    uint8_t homes[KERNELS_MAX] = {0};
    const struct acpi_topology *topology = input->topology;

    for (uint32_t i = 0; i < topology->memory_count; i++) {
        if (topology->memory[i].node >= topology->node_count) {
            snprintf(error, error_size, "memory on unknown node %u", topology->memory[i].node);
            return -EINVAL;
        }
    }
    int failure = plan_collect_free(input, out);
    if (!failure) {
        decide_sharers(out, sharers);
        failure = choose_homes(out, sharers, homes, error, error_size);
    }
    for (uint32_t node = 0; node < out->node_count && !failure; node++) {
        uint64_t needy = 0;
        for (uint32_t k = 0; k < out->kernel_count; k++)
            needy |= homes[k] == node ? 1ULL << k : 0;
        failure = split_node(out, node, sharers[node], needy);
    }
    if (failure == -E2BIG)
        snprintf(error, error_size, "memory in more than %d ranges", PLAN_RANGES_MAX);
    if (!failure)
        describe_memory(out, homes);
    return failure;
}
