/* /sys/devices/system/cpu/cpuN/cache: the caches that CPUID reports. All CPUs are assumed to be like the current one.
 */
#include "kernel/arch/x86_64/cache.h"
#include "kernel/abi/errno.h"
#include "kernel/fs/sys/internal.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"

#define CACHES_MAX 16u /* more than any CPU has: bounds a CPUID enumeration that does not end */
#define SMALL_TEXT 64u

static int64_t find_cache(const struct proc_at *at, struct cache *out)
{
    return cache_find((uint32_t)at->keys[1], out) ? 0 : -ENOENT;
}

static int64_t write_line(const struct proc_at *at, struct text *text)
{
    struct cache cache;
    int64_t error = find_cache(at, &cache);

    return error != 0 ? error : sys_write_number(text, cache.line);
}

static int64_t write_id(const struct proc_at *at, struct text *text)
{
    struct cache cache;
    int64_t error = find_cache(at, &cache);

    return error != 0 ? error : sys_write_number(text, instance.plan.cpus[at->keys[0]].apic_id >> cache.shift);
}

static int64_t write_level(const struct proc_at *at, struct text *text)
{
    struct cache cache;
    int64_t error = find_cache(at, &cache);

    return error != 0 ? error : sys_write_number(text, cache.level);
}

static int64_t write_sets(const struct proc_at *at, struct text *text)
{
    struct cache cache;
    int64_t error = find_cache(at, &cache);

    return error != 0 ? error : sys_write_number(text, cache.sets);
}

static int64_t write_partition(const struct proc_at *at, struct text *text)
{
    struct cache cache;
    int64_t error = find_cache(at, &cache);

    return error != 0 ? error : sys_write_number(text, cache.partitions);
}

static int64_t write_ways(const struct proc_at *at, struct text *text)
{
    struct cache cache;
    int64_t error = find_cache(at, &cache);

    return error != 0 ? error : sys_write_number(text, cache.ways);
}

static int64_t find_sharers(const struct proc_at *at, struct sys_cpus *cpus)
{
    struct cache cache;
    int64_t error = find_cache(at, &cache);
    uint32_t own = error == 0 ? instance.plan.cpus[at->keys[0]].apic_id >> cache.shift : 0;

    *cpus = (struct sys_cpus){{0}};
    for (uint32_t i = 0; error == 0 && i < instance.plan.cpu_count; i++) {
        if (instance.plan.cpus[i].apic_id >> cache.shift == own && sys_is_online(i))
            sys_add(cpus, i);
    }
    return error;
}

static int64_t write_sharers(const struct proc_at *at, struct text *text)
{
    struct sys_cpus cpus;
    int64_t error = find_sharers(at, &cpus);

    return error != 0 ? error : sys_write_list(text, &cpus);
}

static int64_t write_sharers_mask(const struct proc_at *at, struct text *text)
{
    struct sys_cpus cpus;
    int64_t error = find_sharers(at, &cpus);

    return error != 0 ? error : sys_write_mask(text, &cpus);
}

static int64_t write_size(const struct proc_at *at, struct text *text)
{
    struct cache cache;
    int64_t error = find_cache(at, &cache);

    if (error == 0)
        error = proc_text(text, SMALL_TEXT);
    if (error == 0)
        text_put(text, "%luK\n", (unsigned long)(cache_size(&cache) >> 10));
    return error;
}

static int64_t write_type(const struct proc_at *at, struct text *text)
{
    struct cache cache;
    int64_t error = find_cache(at, &cache);

    if (error == 0)
        error = proc_text(text, SMALL_TEXT);
    if (error == 0)
        text_put(text, "%s\n",
                 cache.type == CACHE_DATA          ? "Data"
                 : cache.type == CACHE_INSTRUCTION ? "Instruction"
                                                   : "Unified");
    return error;
}

static const struct proc_row index_rows[] = {
    {.name = "coherency_line_size", .write = write_line},
    {.name = "id", .write = write_id},
    {.name = "level", .write = write_level},
    {.name = "number_of_sets", .write = write_sets},
    {.name = "physical_line_partition", .write = write_partition},
    {.name = "shared_cpu_list", .write = write_sharers},
    {.name = "shared_cpu_map", .write = write_sharers_mask},
    {.name = "size", .write = write_size},
    {.name = "type", .write = write_type},
    {.name = "ways_of_associativity", .write = write_ways},
};
static const struct proc_directory index_directory = {.rows = index_rows, .count = COUNT(index_rows)};

static const struct proc_directory *find_index(struct proc_at *at, const char *name, size_t length)
{
    struct cache cache;

    return sys_numbered(name, length, "index", CACHES_MAX, &at->keys[1]) && find_cache(at, &cache) == 0
               ? &index_directory
               : NULL;
}

static void list_indices(const struct proc_at *at, struct dirents *to)
{
    struct cache cache;

    (void)at;
    for (uint32_t i = 0; i < CACHES_MAX && cache_find(i, &cache); i++)
        sys_add_numbered(to, "index", i, FILE_DIRECTORY);
}

const struct proc_directory sys_cache = {.find = find_index, .list = list_indices};
