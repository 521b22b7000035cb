/* A machine of which a test computes the plan. */
#ifndef TESTS_MACHINE_H
#define TESTS_MACHINE_H

#include "boot/plan/plan.h"
#include "kernel/abi/errno.h"
#include "tests/boot/plan/check.h"
#include "tests/test.h"

#define MIB (1ull << 20)
#define GIB (1ull << 30)

static struct acpi_topology topology;
static struct boot_range ranges[BOOT_RANGES_MAX];
static struct boot_module busy[BOOT_MODULES_MAX];
static struct plan_input input;
static struct plan plan;
static char error_text[128];

/* A machine of NODES nodes with CPUS CPUs each, APIC ids ascending, all distances 10 or 20, without memory. */
static inline void machine(uint32_t nodes, uint32_t cpus)
{
    memset(&topology, 0, sizeof(topology));
    topology.node_count = nodes;
    for (uint32_t node = 0; node < nodes; node++) {
        for (uint32_t i = 0; i < cpus; i++) {
            uint32_t apic_id = topology.cpu_count;
            topology.cpus[topology.cpu_count++] = (struct acpi_cpu){.apic_id = apic_id, .node = node};
        }
    }
    for (uint32_t a = 0; a < NODES_MAX; a++) {
        for (uint32_t b = 0; b < NODES_MAX; b++)
            topology.distance[a][b] = a == b ? 10 : 20;
    }
    input = (struct plan_input){.topology = &topology, .ranges = ranges, .busy = busy, .chunk_size = MIB};
}

static inline void map(uint64_t base, uint64_t size, enum boot_memory_kind kind)
{
    ranges[input.range_count++] = (struct boot_range){.base = base, .size = size, .kind = kind};
}

static inline void affinity(uint32_t node, uint64_t base, uint64_t size)
{
    topology.memory[topology.memory_count++] = (struct acpi_memory){.base = base, .size = size, .node = node};
}

/* Usable memory of NODE. */
static inline void memory(uint32_t node, uint64_t base, uint64_t size)
{
    map(base, size, BOOT_MEMORY_USABLE);
    affinity(node, base, size);
}

static inline void hold(uint64_t base, uint64_t size)
{
    busy[input.busy_count++] = (struct boot_module){.base = base, .size = size};
}

static inline int compute(const char *kernels)
{
    input.kernels = kernels;
    memset(&plan, 0xa5, sizeof(plan));
    memset(error_text, 'x', sizeof(error_text));
    int error = plan_compute(&input, &plan, error_text, sizeof(error_text));
    CHECK(memchr(error_text, '\0', sizeof(error_text)));
    CHECK((error != 0) == (error_text[0] != '\0'));
    if (!error) {
        const char *fault = plan_check(&input, &plan);
        if (fault)
            printf("# kernels=%s: %s\n", kernels ? kernels : "(none)", fault);
        CHECK(!fault);
    }
    return error;
}

static inline uint64_t owned(uint32_t kernel, uint32_t node)
{
    uint64_t size = 0;

    for (uint32_t i = 0; i < plan.range_count; i++) {
        if (plan.ranges[i].kernel == kernel && plan.ranges[i].node == node)
            size += plan.ranges[i].size;
    }
    return size;
}

static inline void expect_error(const char *kernels, int error, const char *words)
{
    CHECK_EQ(compute(kernels), error);
    if (!strstr(error_text, words))
        printf("# kernels=%s: %s\n", kernels, error_text);
    CHECK(strstr(error_text, words));
}

/* Which CPUs belong together. */

#endif
