/* The partition plan: combines its halves (cpus.c, memory.c) and formats it as text. */
#include "boot/plan/plan.h"

#include "boot/plan/internal.h"
#include "kernel/abi/errno.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"

#define MIB (1024ULL * 1024)

int plan_compute(const struct plan_input *input, struct plan *out, char *error, size_t error_size)
{
    const struct acpi_topology *topology = input->topology;

    memset(out, 0, sizeof(*out));
    if (error_size > 0)
        error[0] = '\0';
    if (topology->cpu_count > CPUS_MAX || topology->node_count == 0 || topology->node_count > NODES_MAX) {
        snprintf(error, error_size, "a topology of %u CPUs and %u nodes", topology->cpu_count, topology->node_count);
        return -EINVAL;
    }
    if (input->chunk_size == 0 || input->chunk_size % PAGE_SIZE != 0) {
        snprintf(error, error_size, "a chunk of %llu bytes is not whole pages", (unsigned long long)input->chunk_size);
        return -EINVAL;
    }
    out->chunk_size = input->chunk_size;
    out->node_count = topology->node_count;
    memcpy(out->distance, topology->distance, sizeof(out->distance));

    int failure = plan_assign_cpus(input, out, error, error_size);
    if (!failure)
        failure = plan_assign_memory(input, out, error, error_size);
    return failure;
}

const struct plan_range *plan_range_of(const struct plan *plan, uint64_t pa)
{
    uint32_t low = 0, high = plan->range_count;

    while (low < high) { /* binary search for the first range that ends above PA */
        uint32_t middle = (low + high) / 2;

        if (plan->ranges[middle].base + plan->ranges[middle].size <= pa)
            low = middle + 1;
        else
            high = middle;
    }
    return low < plan->range_count && plan->ranges[low].base <= pa ? &plan->ranges[low] : NULL;
}

/* A text buffer that keeps counting when it is full, as snprintf does. */
struct writer {
    char *text;
    size_t size;
    size_t length;
};

static void write_text(struct writer *writer, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void write_text(struct writer *writer, const char *format, ...)
{
    size_t room = writer->length < writer->size ? writer->size - writer->length : 0;
    va_list args;

    va_start(args, format);
    int length = vsnprintf(room > 0 ? writer->text + writer->length : NULL, room, format, args);
    va_end(args);
    if (length > 0)
        writer->length += (size_t)length;
}

/* Formats the CPUs of KERNEL as runs: "0-3,8". */
static void write_cpus(struct writer *writer, const struct plan *plan, uint32_t kernel)
{
    const char *separator = "";
    uint32_t cpu = 0;

    while (cpu < plan->cpu_count) {
        uint32_t first = cpu;
        while (cpu < plan->cpu_count && plan->cpus[cpu].kernel == (int32_t)kernel)
            cpu++;
        if (cpu == first) {
            cpu++;
            continue;
        }
        if (cpu - first == 1)
            write_text(writer, "%s%u", separator, first);
        else
            write_text(writer, "%s%u-%u", separator, first, cpu - 1);
        separator = ",";
    }
}

size_t plan_format(const struct plan *plan, char *text, size_t size)
{
    struct writer writer = {.text = text, .size = size};
    uint64_t memory = 0;

    for (uint32_t k = 0; k < plan->kernel_count; k++)
        memory += plan->kernels[k].memory;
    write_text(&writer, "%u kernels, %u cpus, %u nodes, %llu MiB\n", plan->kernel_count, plan->cpu_count,
               plan->node_count, (unsigned long long)(memory / MIB));
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        write_text(&writer, "kernel %u cpus ", k);
        write_cpus(&writer, plan, k);
        write_text(&writer, " node %u memory %llu MiB\n", plan->kernels[k].node,
                   (unsigned long long)(plan->kernels[k].memory / MIB));
    }
    return writer.length;
}
