/* The partition plan: which instance owns which CPUs and which memory.
 *
 * A pure function of the firmware's tables, the memory map and the `kernels=` option, so all
 * copies of it are equal. The plan does not change after boot. */
#ifndef BOOT_PLAN_PLAN_H
#define BOOT_PLAN_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "boot/acpi/acpi.h"
#include "boot/firmware/bootinfo.h"
#include "kernel/abi/limits.h"

#define PLAN_RANGES_MAX 512

struct plan_cpu {
    uint32_t apic_id;
    uint32_t node;
    int32_t kernel; /* owner, or -1 when an explicit list leaves this CPU out */
};

struct plan_range {
    uint64_t base; /* physical, page aligned */
    uint64_t size; /* bytes, whole pages, never 0 */
    uint32_t node;
    uint32_t kernel;
};

struct plan_kernel {
    uint32_t node;      /* node of its first CPU, the lowest-numbered one */
    uint32_t cpu_count; /* at least 1 */
    uint32_t boot_cpu;  /* index into cpus of its first CPU, on which it starts */
    uint32_t pad;
    uint64_t memory; /* bytes in all its ranges */
    uint64_t chunk;  /* physical base of its bootstrap chunk, inside one of its ranges; page aligned */
};

struct plan {
    uint32_t kernel_count;
    uint32_t cpu_count;
    uint32_t node_count;
    uint32_t range_count;
    uint64_t chunk_size;            /* bytes, the same for all kernels */
    struct plan_cpu cpus[CPUS_MAX]; /* user-visible CPU numbers: the boot CPU is 0, the rest in MADT order */
    struct plan_kernel kernels[KERNELS_MAX];
    struct plan_range ranges[PLAN_RANGES_MAX]; /* disjoint, ascending by base */
    uint8_t distance[NODES_MAX][NODES_MAX];
};

struct plan_input {
    const struct acpi_topology *topology; /* cpu_count 0 means one CPU: boot_apic_id */
    const struct boot_range *ranges;      /* firmware memory map: may overlap and be unsorted; reserved wins */
    uint32_t range_count;
    const struct boot_module *busy; /* ranges that no kernel may own: the loaded image, modules, boot data */
    uint32_t busy_count;
    uint32_t boot_apic_id; /* the CPU that the firmware started: always kernel 0's boot CPU */
    uint64_t chunk_size;   /* bytes of contiguous memory each instance needs to start; whole pages */
    const char *kernels;   /* "core", "node", a number, or a list; NULL or "" means "core" */
};

/* Computes the plan. Memory below 1 MiB is never assigned. The SRAT determines a range's node (memory that it does not
 * mention belongs to node 0), whichever kernel owns the range. All kernels with a CPU on a node share the node's
 * memory. Memory of a node without CPUs in any kernel goes to the kernels of the nearest node that has such CPUs; a
 * kernel without memory on the nodes of its CPUs takes its share from the node nearest to its first CPU that has room
 * for one more chunk. Kernels that share a node split its memory evenly, in ascending order: shares of at least 16 MiB
 * are cut at the nearest 2 MiB boundary, smaller shares at a page boundary; a cut is moved if a kernel would otherwise
 * lack room for its chunk.
 * kernels=core: one kernel per CPU; node: one per node with CPUs; N: the CPUs, ordered by node, are cut into N runs
 * whose sizes differ by at most one, the longer runs first. In both cases the boot CPU's node comes first, then the
 * other nodes in ascending order. LIST: comma-separated CPUs or ranges A-B, one kernel each, CPU 0 in the first.
 * On failure returns a negative errno and, in ERROR (ERROR_SIZE bytes, NUL-terminated), a short description:
 * -EINVAL a malformed or impossible option (more kernels than CPUs, a CPU twice or unknown), a boot CPU that is not in
 * the topology; -ENOMEM a kernel without room for its chunk; -E2BIG more kernels than KERNELS_MAX or more ranges
 * than PLAN_RANGES_MAX. */
int plan_compute(const struct plan_input *input, struct plan *out, char *error, size_t error_size);

/* Returns the range that contains physical address PA, or NULL when no kernel owns PA. */
const struct plan_range *plan_range_of(const struct plan *plan, uint64_t pa);

/* Writes the plan as text: "K kernels, C cpus, N nodes, M MiB", then one line per kernel:
 * "kernel K cpus LIST node N memory M MiB"; at most SIZE bytes including the NUL.
 * Returns the length the full text has (as snprintf). */
size_t plan_format(const struct plan *plan, char *text, size_t size);

#endif
