/* The partition plan of random machines, and everything that must hold of it.
 * sources: boot/plan/plan.c boot/plan/cpus.c boot/plan/free.c boot/plan/memory.c */
#include "tests/boot/plan/machine.h"

/* Random machines. Memory of different nodes does not overlap and lies in two windows, below and above 4 GiB, small
 * enough to say of each page what it is. */

#define WINDOW_PAGES 16384ull /* 64 MiB */
#define WINDOWS 2
#define FREE 0x100

static const uint64_t window_base[WINDOWS] = {0, 4 * GIB - 32 * MIB};
static uint16_t model[WINDOWS][WINDOW_PAGES];
static uint64_t seed;

static uint64_t pick(uint64_t limit)
{
    return test_below(&seed, limit);
}

/* A random stretch of a window: whole pages mostly, odd bytes sometimes. */
static void random_stretch(uint64_t longest, uint64_t *base, uint64_t *size)
{
    uint64_t window = pick(WINDOWS);

    *base = window_base[window] + pick(WINDOW_PAGES) * PAGE_SIZE;
    *size = (1 + pick(longest)) * PAGE_SIZE;
    if (pick(4) == 0)
        *base += pick(PAGE_SIZE);
    if (pick(4) == 0)
        *size -= pick(PAGE_SIZE);
    uint64_t end = window_base[window] + WINDOW_PAGES * PAGE_SIZE;
    if (*size > end - *base)
        *size = end - *base;
}

static bool overlaps_memory(uint64_t base, uint64_t size)
{
    for (uint32_t i = 0; i < topology.memory_count; i++) {
        const struct acpi_memory *other = &topology.memory[i];
        if (base < other->base + other->size && other->base < base + size)
            return true;
    }
    return false;
}

static void random_machine(char *option, size_t option_size)
{
    static const uint64_t chunks[] = {PAGE_SIZE, 64 * 1024, MIB, 3 * MIB + PAGE_SIZE, 8 * MIB};
    uint32_t nodes = 1 + (uint32_t)pick(pick(4) ? 4 : 12);
    uint32_t cpus = 1 + (uint32_t)pick(pick(4) ? 8 : 70);

    machine(nodes, 0);
    topology.cpu_count = cpus;
    for (uint32_t i = 0; i < cpus; i++)
        topology.cpus[i] = (struct acpi_cpu){.apic_id = i * 2, .node = (uint32_t)pick(nodes)};
    input.boot_apic_id = 2 * (uint32_t)pick(cpus);
    for (uint32_t a = 0; a < nodes; a++) {
        for (uint32_t b = 0; b < nodes; b++)
            topology.distance[a][b] = a == b ? 10 : (uint8_t)(10 + pick(6));
    }
    input.chunk_size = chunks[pick(5)];

    uint64_t base;
    uint64_t size;
    for (uint64_t i = pick(20); i > 0; i--) {
        random_stretch(WINDOW_PAGES / 2, &base, &size);
        if (size > 0 && !overlaps_memory(base, size))
            affinity((uint32_t)pick(nodes), base, size);
    }
    for (uint64_t i = 1 + pick(12); i > 0; i--) {
        bool usable = pick(4) != 0;
        random_stretch(usable ? WINDOW_PAGES : 200, &base, &size);
        if (size > 0)
            map(base, size, usable ? BOOT_MEMORY_USABLE : BOOT_MEMORY_RESERVED);
    }
    for (uint64_t i = pick(BOOT_MODULES_MAX + 1); i > 0; i--) {
        random_stretch(100, &base, &size);
        hold(base, size);
    }

    switch (pick(4)) {
    case 0:
        snprintf(option, option_size, "core");
        break;
    case 1:
        snprintf(option, option_size, "node");
        break;
    case 2:
        snprintf(option, option_size, "%llu", (unsigned long long)(1 + pick(cpus)));
        break;
    default:
        option[0] = '\0';
        for (uint64_t cpu = 0, last; cpu < cpus && strlen(option) + 16 < option_size; cpu = last + 1 + pick(2)) {
            last = cpu + pick(4);
            if (last >= cpus)
                last = cpus - 1;
            sprintf(option + strlen(option), "%s%llu-%llu", cpu > 0 ? "," : "", (unsigned long long)cpu,
                    (unsigned long long)last);
        }
    }
}

#define USABLE 0x200
#define TAKEN 0x400

/* Marks the pages of the windows that lie in [BASE, BASE + SIZE): those INSIDE it, or all it touches. */
static void paint(uint64_t base, uint64_t size, bool inside, uint16_t mark)
{
    uint64_t first = inside ? (base + PAGE_SIZE - 1) / PAGE_SIZE : base / PAGE_SIZE;
    uint64_t end = inside ? (base + size) / PAGE_SIZE : (base + size + PAGE_SIZE - 1) / PAGE_SIZE;

    for (uint64_t page = first; size > 0 && page < end; page++) {
        uint32_t w = page * PAGE_SIZE >= window_base[1];
        uint64_t index = page - window_base[w] / PAGE_SIZE;
        CHECK(index < WINDOW_PAGES);
        model[w][index] |= mark;
    }
}

/* Says of each page of the windows whether it may be given out, and of which node it is. */
static void build_model(void)
{
    memset(model, 0, sizeof(model));
    for (uint32_t i = 0; i < topology.memory_count; i++) {
        const struct acpi_memory *entry = &topology.memory[i];
        uint64_t first = (entry->base + PAGE_SIZE - 1) / PAGE_SIZE * PAGE_SIZE;
        uint64_t last = (entry->base + entry->size - 1) / PAGE_SIZE * PAGE_SIZE;
        if (first <= last)
            paint(first, last + PAGE_SIZE - first, true, (uint16_t)entry->node);
    }
    for (uint32_t i = 0; i < input.range_count; i++) {
        bool usable = ranges[i].kind == BOOT_MEMORY_USABLE;
        paint(ranges[i].base, ranges[i].size, usable, usable ? USABLE : TAKEN);
    }
    for (uint32_t i = 0; i < input.busy_count; i++)
        paint(busy[i].base, busy[i].size, false, TAKEN);
    paint(0, MIB, false, TAKEN);
    for (uint32_t w = 0; w < WINDOWS; w++) {
        for (uint64_t page = 0; page < WINDOW_PAGES; page++) {
            uint16_t mark = model[w][page];
            model[w][page] = (mark & (USABLE | TAKEN)) == USABLE ? FREE | (mark & 0xff) : 0;
        }
    }
}

/* Takes each page of the plan off the model; what is left was forgotten. */
static void compare_with_model(void)
{
    for (uint32_t i = 0; i < plan.range_count; i++) {
        const struct plan_range *range = &plan.ranges[i];
        uint32_t w = range->base >= window_base[1];
        uint64_t first = (range->base - window_base[w]) / PAGE_SIZE;
        CHECK(first + range->size / PAGE_SIZE <= WINDOW_PAGES);
        for (uint64_t page = first; page < first + range->size / PAGE_SIZE; page++) {
            CHECK(model[w][page] == (FREE | range->node));
            model[w][page] = 0;
        }
    }
    for (uint32_t w = 0; w < WINDOWS; w++) {
        for (uint64_t page = 0; page < WINDOW_PAGES; page++)
            CHECK(model[w][page] == 0);
    }
}

/* True when every node with memory has room for the chunks of all CPUs together: then no plan may fail. */
static bool roomy(void)
{
    uint64_t room[NODES_MAX] = {0};
    bool has_memory[NODES_MAX] = {false};
    bool any = false;

    for (uint32_t w = 0; w < WINDOWS; w++) {
        uint64_t run = 0;
        for (uint64_t page = 0; page < WINDOW_PAGES; page++) {
            if (!model[w][page]) {
                run = 0;
                continue;
            }
            if (page > 0 && model[w][page] != model[w][page - 1])
                run = 0;
            uint16_t node = model[w][page] & 0xff;
            has_memory[node] = any = true;
            if (++run * PAGE_SIZE == input.chunk_size) {
                room[node]++;
                run = 0;
            }
        }
    }
    for (uint32_t node = 0; node < topology.node_count; node++) {
        if (has_memory[node] && room[node] < topology.cpu_count)
            return false;
    }
    return any;
}

/* An address in, before and behind every range. */
static void find_ranges(void)
{
    CHECK(plan_range_of(&plan, UINT64_MAX) == NULL);
    for (uint32_t i = 0; i < plan.range_count; i++) {
        const struct plan_range *range = &plan.ranges[i];
        const struct plan_range *before = i > 0 ? range - 1 : NULL;

        CHECK(plan_range_of(&plan, range->base) == range);
        CHECK(plan_range_of(&plan, range->base + range->size - 1) == range);
        if (range->base > 0)
            CHECK(plan_range_of(&plan, range->base - 1) ==
                  (before != NULL && before->base + before->size == range->base ? before : NULL));
    }
}

TEST(random_machines, "on 3000 random machines every plan keeps its invariants and gives out exactly the free memory")
{
    int planned = 0;
    int refused = 0;

    for (uint64_t i = 1; i <= 3000; i++) {
        char option[256];
        seed = i;
        random_machine(option, sizeof(option));
        build_model();
        bool must_work = roomy();
        int error = compute(option);
        if (error == 0) {
            planned++;
            compare_with_model();
            find_ranges();
            struct plan again;
            CHECK_EQ(plan_compute(&input, &again, error_text, sizeof(error_text)), 0);
            CHECK(memcmp(&again, &plan, sizeof(plan)) == 0);
        } else {
            refused++;
            CHECK(error == -ENOMEM || error == -E2BIG);
            CHECK(error != -E2BIG || topology.cpu_count > KERNELS_MAX);
            if (must_work && error == -ENOMEM)
                printf("# seed %llu, kernels=%s: %s\n", (unsigned long long)i, option, error_text);
            CHECK(!must_work || error != -ENOMEM);
        }
    }
    CHECK(planned > 1000 && refused > 100); /* the generator reaches both */
}
