/* Assigns CPUs to kernels by the `kernels=` option (plan.h describes its forms). */
#include <stdbool.h>

#include "boot/plan/internal.h"
#include "kernel/abi/errno.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"

#define NO_KERNEL (-1)
#define NUMBER_MAX 100000u /* larger numbers in the option are malformed */

_Static_assert(NODES_MAX <= KERNELS_MAX, "kernels=node needs at most one kernel a node");

/* Numbers the CPUs: the boot CPU is 0, the others follow in the firmware's order. */
static int number_cpus(const struct plan_input *input, struct plan *out, char *error, size_t error_size)
{
    const struct acpi_topology *topology = input->topology;
    bool boot_found = false;

    out->cpus[0] = (struct plan_cpu){.apic_id = input->boot_apic_id, .kernel = NO_KERNEL};
    out->cpu_count = 1;
    for (uint32_t i = 0; i < topology->cpu_count; i++) {
        const struct acpi_cpu *cpu = &topology->cpus[i];
        if (cpu->node >= topology->node_count) {
            snprintf(error, error_size, "CPU with APIC id %u on unknown node %u", cpu->apic_id, cpu->node);
            return -EINVAL;
        }
        if (cpu->apic_id == input->boot_apic_id && !boot_found) {
            out->cpus[0].node = cpu->node;
            boot_found = true;
            continue;
        }
        if (out->cpu_count == CPUS_MAX)
            break;
        out->cpus[out->cpu_count++] = (struct plan_cpu){
            .apic_id = cpu->apic_id, .node = cpu->node, .kernel = NO_KERNEL};
    }
    if (topology->cpu_count > 0 && !boot_found) {
        snprintf(error, error_size, "the boot CPU, APIC id %u, is not among the firmware's CPUs", input->boot_apic_id);
        return -EINVAL;
    }
    return 0;
}

/* Returns the node at POSITION in the order in which kernels are numbered: the boot CPU's node first, then
 * ascending. */
static uint32_t node_at(const struct plan *plan, uint32_t position)
{
    uint32_t boot_node = plan->cpus[0].node;

    if (position == 0)
        return boot_node;
    return position <= boot_node ? position - 1 : position;
}

static int split_by_core(struct plan *out, char *error, size_t error_size)
{
    if (out->cpu_count > KERNELS_MAX) {
        snprintf(error, error_size, "%u kernels: at most %d are possible", out->cpu_count, KERNELS_MAX);
        return -E2BIG;
    }
    for (uint32_t cpu = 0; cpu < out->cpu_count; cpu++)
        out->cpus[cpu].kernel = (int32_t)cpu;
    out->kernel_count = out->cpu_count;
    return 0;
}

static int split_by_node(struct plan *out)
{
    for (uint32_t position = 0; position < out->node_count; position++) {
        uint32_t node = node_at(out, position);
        bool used = false;
        for (uint32_t cpu = 0; cpu < out->cpu_count; cpu++) {
            if (out->cpus[cpu].node != node)
                continue;
            out->cpus[cpu].kernel = (int32_t)out->kernel_count;
            used = true;
        }
        if (used)
            out->kernel_count++;
    }
    return 0;
}

static int split_by_number(struct plan *out, uint32_t count, char *error, size_t error_size)
{
    if (count == 0 || count > out->cpu_count) {
        snprintf(error, error_size, "%u kernels: there are %u CPUs, and a kernel needs at least one", count,
                 out->cpu_count);
        return -EINVAL;
    }
    if (count > KERNELS_MAX) {
        snprintf(error, error_size, "%u kernels: at most %d are possible", count, KERNELS_MAX);
        return -E2BIG;
    }
    uint32_t share = out->cpu_count / count;
    uint32_t longer = out->cpu_count % count; /* this many kernels, the first ones, get one CPU more */
    uint32_t rank = 0;
    for (uint32_t position = 0; position < out->node_count; position++) {
        uint32_t node = node_at(out, position);
        for (uint32_t cpu = 0; cpu < out->cpu_count; cpu++) {
            if (out->cpus[cpu].node != node)
                continue;
            uint32_t kernel = rank / (share + 1);
            if (kernel >= longer)
                kernel = longer + (rank - longer * (share + 1)) / share;
            out->cpus[cpu].kernel = (int32_t)kernel;
            rank++;
        }
    }
    out->kernel_count = count;
    return 0;
}

/* Reads a decimal number and moves *TEXT behind it; false when there is none or it is too large. */
static bool read_number(const char **text, uint32_t *value)
{
    const char *at = *text;
    uint32_t result = 0;

    while (*at >= '0' && *at <= '9') {
        result = result * 10 + (uint32_t)(*at - '0');
        if (result > NUMBER_MAX)
            return false;
        at++;
    }
    if (at == *text)
        return false;
    *text = at;
    *value = result;
    return true;
}

/* Reads "A" or "A-B" and moves *TEXT behind it. */
static bool read_run(const char **text, uint32_t *first, uint32_t *last)
{
    if (!read_number(text, first))
        return false;
    *last = *first;
    if (**text != '-')
        return true;
    (*text)++;
    return read_number(text, last) && *first <= *last;
}

static int split_by_list(struct plan *out, const char *list, char *error, size_t error_size)
{
    const char *at = list;

    for (;;) {
        uint32_t first;
        uint32_t last;
        if (!read_run(&at, &first, &last) || (*at != ',' && *at != '\0')) {
            snprintf(error, error_size, "neither \"core\", \"node\", a number nor a list such as 0-1,2-3");
            return -EINVAL;
        }
        if (last >= out->cpu_count) {
            snprintf(error, error_size, "there is no CPU %u, only %u of them", last, out->cpu_count);
            return -EINVAL;
        }
        if (out->kernel_count == 0 && first != 0) {
            snprintf(error, error_size, "CPU 0 must be in the first kernel");
            return -EINVAL;
        }
        if (out->kernel_count == KERNELS_MAX) {
            snprintf(error, error_size, "more than %d kernels", KERNELS_MAX);
            return -E2BIG;
        }
        for (uint32_t cpu = first; cpu <= last; cpu++) {
            if (out->cpus[cpu].kernel != NO_KERNEL) {
                snprintf(error, error_size, "CPU %u is in the list twice", cpu);
                return -EINVAL;
            }
            out->cpus[cpu].kernel = (int32_t)out->kernel_count;
        }
        out->kernel_count++;
        if (*at == '\0')
            return 0;
        at++;
    }
}

/* A kernel starts on its lowest-numbered CPU, which also determines the kernel's node. */
static void describe_kernels(struct plan *out)
{
    for (uint32_t cpu = 0; cpu < out->cpu_count; cpu++) {
        if (out->cpus[cpu].kernel == NO_KERNEL)
            continue;
        struct plan_kernel *kernel = &out->kernels[out->cpus[cpu].kernel];
        if (kernel->cpu_count++ == 0) {
            kernel->boot_cpu = cpu;
            kernel->node = out->cpus[cpu].node;
        }
    }
}

int plan_assign_cpus(const struct plan_input *input, struct plan *out, char *error, size_t error_size)
{
    const char *option = input->kernels && *input->kernels ? input->kernels : "core";
    const char *rest = option;
    uint32_t count;
    int failure = number_cpus(input, out, error, error_size);

    if (failure)
        return failure;
    if (strcmp(option, "core") == 0)
        failure = split_by_core(out, error, error_size);
    else if (strcmp(option, "node") == 0)
        failure = split_by_node(out);
    else if (read_number(&rest, &count) && *rest == '\0')
        failure = split_by_number(out, count, error, error_size);
    else
        failure = split_by_list(out, option, error, error_size);
    if (!failure)
        describe_kernels(out);
    return failure;
}
