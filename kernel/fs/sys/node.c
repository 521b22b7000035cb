/* /sys/devices/system/node: sets of NUMA nodes, and for each node its CPUs, distances and memory. */
#include "kernel/fs/proc/report.h"
#include "kernel/fs/sys/internal.h"
#include "kernel/instance/instance.h"

static bool node_has_cpu(uint32_t node)
{
    for (uint32_t i = 0; i < instance.plan.cpu_count; i++) {
        if (instance.plan.cpus[i].node == node && sys_is_online(i))
            return true;
    }
    return false;
}

/* The bytes of NODE that kernels own. */
static uint64_t node_memory(uint32_t node)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < instance.plan.range_count; i++) {
        if (instance.plan.ranges[i].node == node)
            sum += instance.plan.ranges[i].size;
    }
    return sum;
}

static int64_t write_nodes(const struct proc_at *at, struct text *text)
{
    struct sys_cpus nodes = {{0}};

    (void)at;
    for (uint32_t i = 0; i < instance.plan.node_count; i++)
        sys_add(&nodes, i);
    return sys_write_list(text, &nodes);
}

static int64_t write_nodes_with_cpus(const struct proc_at *at, struct text *text)
{
    struct sys_cpus nodes = {{0}};

    (void)at;
    for (uint32_t i = 0; i < instance.plan.node_count; i++) {
        if (node_has_cpu(i))
            sys_add(&nodes, i);
    }
    return sys_write_list(text, &nodes);
}

static int64_t write_nodes_with_memory(const struct proc_at *at, struct text *text)
{
    struct sys_cpus nodes = {{0}};

    (void)at;
    for (uint32_t i = 0; i < instance.plan.node_count; i++) {
        if (node_memory(i) > 0)
            sys_add(&nodes, i);
    }
    return sys_write_list(text, &nodes);
}

static void cpus_of_node(const struct proc_at *at, struct sys_cpus *cpus)
{
    *cpus = (struct sys_cpus){{0}};
    for (uint32_t i = 0; i < instance.plan.cpu_count; i++) {
        if (instance.plan.cpus[i].node == at->keys[1] && sys_is_online(i))
            sys_add(cpus, i);
    }
}

static int64_t write_node_list(const struct proc_at *at, struct text *text)
{
    struct sys_cpus cpus;

    cpus_of_node(at, &cpus);
    return sys_write_list(text, &cpus);
}

static int64_t write_node_mask(const struct proc_at *at, struct text *text)
{
    struct sys_cpus cpus;

    cpus_of_node(at, &cpus);
    return sys_write_mask(text, &cpus);
}

static int64_t write_distance(const struct proc_at *at, struct text *text)
{
    int64_t error = proc_text(text, TEXT_SIZE);

    for (uint32_t i = 0; error == 0 && i < instance.plan.node_count; i++)
        text_put(text, i == 0 ? "%u" : " %u", instance.plan.distance[at->keys[1]][i]);
    if (error == 0)
        text_put(text, "\n");
    return error;
}

static int64_t find_node_report(const struct proc_at *at, struct text *text, struct report_node *node)
{
    int64_t error = report_node((uint32_t)at->keys[1], node);

    return error != 0 ? error : proc_text(text, TEXT_SIZE);
}

/* Memory that the frame allocators do not manage (kernel images and rings) counts as used. */
static int64_t write_node_memory(const struct proc_at *at, struct text *text)
{
    struct report_node node;
    int64_t error = find_node_report(at, text, &node);
    unsigned long total = node_memory((uint32_t)at->keys[1]) >> 10, free = node.free * (PAGE_SIZE >> 10);
    uint32_t number = (uint32_t)at->keys[1];

    if (error == 0)
        text_put(text,
                 "Node %u MemTotal:       %8lu kB\nNode %u MemFree:        %8lu kB\nNode %u MemUsed:        %8lu kB\n",
                 number, total, number, free, number, total - free);
    return error;
}

static int64_t write_numa(const struct proc_at *at, struct text *text, bool pages, const char *local, const char *other)
{
    struct report_node node;
    int64_t error = find_node_report(at, text, &node);

    if (error != 0)
        return error;
    if (!pages)
        text_put(text, "numa_hit %lu\nnuma_miss %lu\nnuma_foreign %lu\ninterleave_hit %lu\n",
                 (unsigned long)node.counts.hit, (unsigned long)node.counts.miss, (unsigned long)node.counts.foreign,
                 (unsigned long)node.counts.interleave);
    else
        text_put(text, "nr_free_pages %lu\nnuma_hit %lu\nnuma_miss %lu\nnuma_foreign %lu\nnuma_interleave %lu\n",
                 (unsigned long)node.free, (unsigned long)node.counts.hit, (unsigned long)node.counts.miss,
                 (unsigned long)node.counts.foreign, (unsigned long)node.counts.interleave);
    text_put(text, "%s %lu\n%s %lu\n", local, (unsigned long)node.counts.local, other,
             (unsigned long)node.counts.other);
    return 0;
}

static int64_t write_numa_counts(const struct proc_at *at, struct text *text)
{
    return write_numa(at, text, false, "local_node", "other_node");
}

static int64_t write_node_vmstat(const struct proc_at *at, struct text *text)
{
    return write_numa(at, text, true, "numa_local", "numa_other");
}

/* --- directories --- */

static int64_t link_to_cpu(const struct proc_at *at, char *out, size_t size)
{
    return sys_give_link(out, size, "../../cpu/cpu%u", at->keys[0]);
}

static const struct proc_row cpu_link = {.name = "", .link = link_to_cpu, .directory = &sys_cpu};
static const struct proc_directory cpu_beside = {.rows = &cpu_link, .count = 1};

static const struct proc_directory *find_own_cpu(struct proc_at *at, const char *name, size_t length)
{
    uint64_t cpu;

    if (!sys_numbered(name, length, "cpu", instance.plan.cpu_count, &cpu) ||
        instance.plan.cpus[cpu].node != at->keys[1])
        return NULL;
    at->keys[0] = cpu;
    return &cpu_beside;
}

static void list_own_cpus(const struct proc_at *at, struct dirents *to)
{
    for (uint32_t i = 0; i < instance.plan.cpu_count; i++) {
        if (instance.plan.cpus[i].node == at->keys[1])
            sys_add_numbered(to, "cpu", i, FILE_LINK);
    }
}

static const struct proc_row node_rows[] = {
    {.name = "cpulist", .write = write_node_list},    {.name = "cpumap", .write = write_node_mask},
    {.name = "distance", .write = write_distance},    {.name = "meminfo", .write = write_node_memory},
    {.name = "numastat", .write = write_numa_counts}, {.name = "vmstat", .write = write_node_vmstat},
};
const struct proc_directory sys_node = {
    .rows = node_rows, .count = COUNT(node_rows), .find = find_own_cpu, .list = list_own_cpus};

static const struct proc_directory *find_node(struct proc_at *at, const char *name, size_t length)
{
    return sys_numbered(name, length, "node", instance.plan.node_count, &at->keys[1]) ? &sys_node : NULL;
}

static void list_nodes(const struct proc_at *at, struct dirents *to)
{
    (void)at;
    for (uint32_t i = 0; i < instance.plan.node_count; i++)
        sys_add_numbered(to, "node", i, FILE_DIRECTORY);
}

static const struct proc_row all_nodes_rows[] = {
    {.name = "has_cpu", .write = write_nodes_with_cpus},
    {.name = "has_memory", .write = write_nodes_with_memory},
    {.name = "has_normal_memory", .write = write_nodes_with_memory},
    {.name = "online", .write = write_nodes},
    {.name = "possible", .write = write_nodes},
};
const struct proc_directory sys_all_nodes = {
    .rows = all_nodes_rows, .count = COUNT(all_nodes_rows), .find = find_node, .list = list_nodes};
