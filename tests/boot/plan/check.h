/* What must hold for every plan that plan_compute returns, checked against its input without sharing its method. */
#ifndef TESTS_BOOT_PLAN_CHECK_H
#define TESTS_BOOT_PLAN_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "boot/plan/plan.h"

static inline uint64_t plan_check_end(uint64_t base, uint64_t size)
{
    return size > UINT64_MAX - base ? UINT64_MAX : base + size;
}

/* True when usable ranges cover [BASE, END) without a gap. */
static inline bool plan_check_usable(const struct plan_input *input, uint64_t base, uint64_t end)
{
    while (base < end) {
        uint64_t reached = base;
        for (uint32_t i = 0; i < input->range_count; i++) {
            const struct boot_range *range = &input->ranges[i];
            uint64_t range_end = plan_check_end(range->base, range->size);
            if (range->kind == BOOT_MEMORY_USABLE && range->base <= base && range_end > reached)
                reached = range_end;
        }
        if (reached == base)
            return false;
        base = reached;
    }
    return true;
}

static inline bool plan_check_meets(uint64_t base, uint64_t end, uint64_t other, uint64_t size)
{
    return size > 0 && other < end && base < plan_check_end(other, size);
}

static inline const char *plan_check_range(const struct plan_input *input, const struct plan *plan, uint32_t number)
{
    const struct plan_range *range = &plan->ranges[number];
    uint64_t end = plan_check_end(range->base, range->size);

    if (range->size == 0 || range->base % PAGE_SIZE != 0 || range->size % PAGE_SIZE != 0)
        return "a range is not whole pages";
    if (range->base + range->size != end || range->base < 1 << 20)
        return "a range wraps or lies below 1 MiB";
    if (range->kernel >= plan->kernel_count || range->node >= plan->node_count)
        return "a range of no kernel or no node";
    if (number > 0 && range[-1].base + range[-1].size > range->base)
        return "ranges overlap or do not ascend";
    if (!plan_check_usable(input, range->base, end))
        return "a range is not usable memory";
    for (uint32_t i = 0; i < input->range_count; i++) {
        if (input->ranges[i].kind != BOOT_MEMORY_USABLE &&
            plan_check_meets(range->base, end, input->ranges[i].base, input->ranges[i].size))
            return "a range holds reserved memory";
    }
    for (uint32_t i = 0; i < input->busy_count; i++) {
        if (plan_check_meets(range->base, end, input->busy[i].base, input->busy[i].size))
            return "a range holds busy memory";
    }
    return NULL;
}

static inline bool plan_check_has_memory(const struct plan *plan, uint32_t node)
{
    for (uint32_t i = 0; i < plan->range_count; i++) {
        if (plan->ranges[i].node == node)
            return true;
    }
    return false;
}

static inline bool plan_check_on_node(const struct plan *plan, uint32_t kernel, uint32_t node)
{
    for (uint32_t cpu = 0; cpu < plan->cpu_count; cpu++) {
        if (plan->cpus[cpu].kernel == (int32_t)kernel && plan->cpus[cpu].node == node)
            return true;
    }
    return false;
}

/* The node with kernels whose CPUs have the shortest way to memory on NODE; NODE itself if it has kernels. */
static inline uint32_t plan_check_nearest(const struct plan *plan, uint32_t node)
{
    uint32_t best = UINT32_MAX;

    for (uint32_t cpu = 0; cpu < plan->cpu_count; cpu++) {
        uint32_t other = plan->cpus[cpu].node;
        if (plan->cpus[cpu].kernel < 0)
            continue;
        if (other == node)
            return node;
        if (best == UINT32_MAX || plan->distance[other][node] < plan->distance[best][node] ||
            (other < best && plan->distance[other][node] == plan->distance[best][node]))
            best = other;
    }
    return best;
}

/* Who owns memory of a node: kernels of the nearest node with kernels, and kernels that found none on their own. */
static inline const char *plan_check_owner(const struct plan *plan, const struct plan_range *range)
{
    if (plan_check_on_node(plan, range->kernel, plan_check_nearest(plan, range->node)))
        return NULL;
    for (uint32_t node = 0; node < plan->node_count; node++) {
        if (plan_check_on_node(plan, range->kernel, node) && plan_check_has_memory(plan, node))
            return "a kernel owns memory of a foreign node though its own has some";
    }
    return NULL;
}

static inline const char *plan_check_cpus(const struct plan_input *input, const struct plan *plan)
{
    const struct acpi_topology *topology = input->topology;

    if (plan->cpu_count != (topology->cpu_count > 0 ? topology->cpu_count : 1))
        return "CPUs are missing";
    if (plan->cpus[0].apic_id != input->boot_apic_id || plan->cpus[0].kernel != 0)
        return "the boot CPU is not CPU 0 of kernel 0";
    uint32_t next = 1;
    for (uint32_t i = 0; i < topology->cpu_count; i++) {
        const struct acpi_cpu *cpu = &topology->cpus[i];
        bool boot = cpu->apic_id == input->boot_apic_id;
        uint32_t number = boot ? 0 : next++;
        if (number >= plan->cpu_count || plan->cpus[number].apic_id != cpu->apic_id ||
            plan->cpus[number].node != cpu->node)
            return "CPUs are not in the firmware's order";
    }
    for (uint32_t i = 0; i < plan->cpu_count; i++) {
        if (plan->cpus[i].kernel < -1 || plan->cpus[i].kernel >= (int32_t)plan->kernel_count)
            return "a CPU of no kernel";
    }
    return NULL;
}

static inline const char *plan_check_kernel(const struct plan *plan, uint32_t number)
{
    const struct plan_kernel *kernel = &plan->kernels[number];
    uint32_t cpus = 0;
    uint64_t memory = 0;
    bool chunk_inside = false;

    for (uint32_t i = 0; i < plan->cpu_count; i++) {
        if (plan->cpus[i].kernel != (int32_t)number)
            continue;
        if (cpus++ == 0 && (kernel->boot_cpu != i || kernel->node != plan->cpus[i].node))
            return "a kernel's boot CPU or node is not its first CPU's";
    }
    if (cpus == 0 || cpus != kernel->cpu_count)
        return "a kernel's CPU count is wrong";
    for (uint32_t i = 0; i < plan->range_count; i++) {
        const struct plan_range *range = &plan->ranges[i];
        if (range->kernel != number)
            continue;
        memory += range->size;
        chunk_inside |= kernel->chunk >= range->base && kernel->chunk - range->base <= range->size &&
                        plan->chunk_size <= range->size - (kernel->chunk - range->base);
    }
    if (memory != kernel->memory)
        return "a kernel's memory is not the sum of its ranges";
    if (!chunk_inside || kernel->chunk % PAGE_SIZE != 0)
        return "a kernel's chunk is not in its memory";
    return NULL;
}

/* NULL, or what is wrong with PLAN, which was computed from INPUT without an error. */
static inline const char *plan_check(const struct plan_input *input, const struct plan *plan)
{
    const char *fault = NULL;

    if (plan->kernel_count == 0 || plan->kernel_count > KERNELS_MAX || plan->range_count > PLAN_RANGES_MAX ||
        plan->node_count != input->topology->node_count || plan->chunk_size != input->chunk_size)
        return "a count is wrong";
    fault = plan_check_cpus(input, plan);
    for (uint32_t i = 0; i < plan->range_count && !fault; i++) {
        fault = plan_check_range(input, plan, i);
        if (!fault)
            fault = plan_check_owner(plan, &plan->ranges[i]);
    }
    for (uint32_t k = 0; k < plan->kernel_count && !fault; k++)
        fault = plan_check_kernel(plan, k);
    return fault;
}

#endif
