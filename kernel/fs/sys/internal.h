/* Declarations shared by the files of /sys: sets of CPUs, and names with numbers. */
#ifndef KERNEL_FS_SYS_INTERNAL_H
#define KERNEL_FS_SYS_INTERNAL_H

#include "kernel/abi/limits.h"
#include "kernel/fs/proc/proc.h"

#define TEXT_SIZE 2048u /* bytes; enough for a list of CPUs: every second one of 256 takes about 500 */

struct sys_cpus {
    uint64_t bits[CPUS_MAX / 64];
};

static inline void sys_add(struct sys_cpus *cpus, uint32_t cpu)
{
    cpus->bits[cpu / 64] |= 1ull << cpu % 64;
}

/* Returns true if the kernel of CPU runs. */
bool sys_is_online(uint32_t cpu);

/* Write the whole text of a file: a list such as "0-3,8", a mask of the plan's CPUs, or a number. -ENOMEM. */
int64_t sys_write_list(struct text *text, const struct sys_cpus *cpus);
int64_t sys_write_mask(struct text *text, const struct sys_cpus *cpus);
int64_t sys_write_number(struct text *text, uint32_t number);

/* Returns true if NAME is PREFIX followed by a number below LIMIT, which goes to *NUMBER. */
bool sys_numbered(const char *name, size_t length, const char *prefix, uint32_t limit, uint64_t *number);
void sys_add_numbered(struct dirents *to, const char *prefix, uint32_t number, uint32_t mode);

/* Writes FORMAT with NUMBER, the target of a link, to OUT. Returns its length, or -ENAMETOOLONG. */
int64_t sys_give_link(char *out, size_t size, const char *format, uint64_t number);

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

/* cpu and cpu/cpuN (cpu.c), node and node/nodeN (node.c), which have links to each other. at->keys: CPU, node. */
extern const struct proc_directory sys_all_cpus, sys_cpu, sys_all_nodes, sys_node;
/* cpuN/cache (cache.c). at->keys: CPU, then the cache. */
extern const struct proc_directory sys_cache;

/* kernel/mm/mempolicy/weighted_interleave (weight.c). at->keys[1]: node. */
extern const struct proc_directory sys_weights;

#endif
