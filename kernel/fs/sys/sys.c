/* /sys. See the header. CPUs have the plan's numbers. A CPU is online while its kernel runs, possible and present
 * always; one that the plan gives to no kernel is never online.
 *
 * at->keys: CPU, node. */
#include "kernel/fs/sys/sys.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/base/instructions.h"
#include "kernel/fs/proc/report.h"
#include "kernel/fs/sys/internal.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"
#include "msg/call.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define TEXT_SIZE 2048u /* bytes, for a list of any CPUs: each second one of 256 makes 500 */
#define MASK_WORDS (CPUS_MAX / 64)
#define LEAF_TOPOLOGY 0xbu /* of cpuid: shifts of APIC ids by level */
#define LEVEL_SHIFT 31u    /* mask of the shift in EAX */
#define MASK_GROUP 32u     /* bits of a mask that stand together */

static bool has(const struct sys_cpus *cpus, uint32_t cpu)
{
    return (cpus->bits[cpu / 64] >> cpu % 64 & 1) != 0;
}

bool sys_is_online(uint32_t cpu)
{
    int32_t kernel = instance.plan.cpus[cpu].kernel;

    return kernel >= 0 && ((uint32_t)kernel == instance.kernel || msg_peer_started((uint32_t)kernel));
}

/* --- text --- */

int64_t sys_write_list(struct text *text, const struct sys_cpus *cpus)
{
    const char *comma = "";
    int64_t error = proc_text(text, TEXT_SIZE);

    for (uint32_t cpu = 0; error == 0 && cpu < CPUS_MAX; cpu++) {
        uint32_t first = cpu;

        if (!has(cpus, cpu))
            continue;
        while (cpu + 1 < CPUS_MAX && has(cpus, cpu + 1))
            cpu++;
        text_put(text, first == cpu ? "%s%u" : "%s%u-%u", comma, first, cpu);
        comma = ",";
    }
    if (error == 0)
        text_put(text, "\n");
    return error;
}

void sys_put_mask(struct text *text, const uint64_t *bits, uint32_t count)
{
    uint32_t digits = (count + 3) / 4;

    while (digits-- > 0) {
        text_put(text, "%x", (uint32_t)(bits[digits / 16] >> digits % 16 * 4 & 15));
        if (digits > 0 && digits % (MASK_GROUP / 4) == 0)
            text_put(text, ",");
    }
}

int64_t sys_write_mask(struct text *text, const struct sys_cpus *cpus)
{
    int64_t error = proc_text(text, TEXT_SIZE);

    if (error == 0) {
        sys_put_mask(text, cpus->bits, instance.plan.cpu_count);
        text_put(text, "\n");
    }
    return error;
}

int64_t sys_write_number(struct text *text, uint32_t number)
{
    int64_t error = proc_text(text, TEXT_SIZE);

    if (error == 0)
        text_put(text, "%u\n", number);
    return error;
}

/* --- cpu --- */

static void cpus_all(struct sys_cpus *cpus)
{
    *cpus = (struct sys_cpus){{0}};
    for (uint32_t i = 0; i < instance.plan.cpu_count; i++)
        sys_add(cpus, i);
}

static int64_t write_possible(const struct proc_at *at, struct text *text)
{
    struct sys_cpus cpus;

    (void)at;
    cpus_all(&cpus);
    return sys_write_list(text, &cpus);
}

static int64_t write_online(const struct proc_at *at, struct text *text)
{
    struct sys_cpus cpus = {{0}};

    (void)at;
    for (uint32_t i = 0; i < instance.plan.cpu_count; i++) {
        if (sys_is_online(i))
            sys_add(&cpus, i);
    }
    return sys_write_list(text, &cpus);
}

static int64_t write_offline(const struct proc_at *at, struct text *text)
{
    struct sys_cpus cpus = {{0}};

    (void)at;
    for (uint32_t i = 0; i < instance.plan.cpu_count; i++) {
        if (!sys_is_online(i))
            sys_add(&cpus, i);
    }
    return sys_write_list(text, &cpus);
}

static int64_t write_last(const struct proc_at *at, struct text *text)
{
    (void)at;
    return sys_write_number(text, CPUS_MAX - 1);
}

/* How far an APIC id is shifted to give the core (LEVEL 0) or the package (1) that the CPU is in. All CPUs are taken to
 * be like the one that is asked; one that does not say has packages of one core. */
static uint32_t level_shift(uint32_t level)
{
    if (cpuid(0, 0).eax < LEAF_TOPOLOGY || cpuid(LEAF_TOPOLOGY, level).ebx == 0)
        return 0;
    return cpuid(LEAF_TOPOLOGY, level).eax & LEVEL_SHIFT;
}

static void cpus_beside(const struct proc_at *at, uint32_t level, struct sys_cpus *cpus)
{
    uint32_t shift = level_shift(level);
    uint32_t mine = instance.plan.cpus[at->keys[0]].apic_id >> shift;

    *cpus = (struct sys_cpus){{0}};
    for (uint32_t i = 0; i < instance.plan.cpu_count; i++) {
        if (instance.plan.cpus[i].apic_id >> shift == mine && sys_is_online(i))
            sys_add(cpus, i);
    }
}

static int64_t write_core_list(const struct proc_at *at, struct text *text)
{
    struct sys_cpus cpus;

    cpus_beside(at, 0, &cpus);
    return sys_write_list(text, &cpus);
}

static int64_t write_core_mask(const struct proc_at *at, struct text *text)
{
    struct sys_cpus cpus;

    cpus_beside(at, 0, &cpus);
    return sys_write_mask(text, &cpus);
}

static int64_t write_package_list(const struct proc_at *at, struct text *text)
{
    struct sys_cpus cpus;

    cpus_beside(at, 1, &cpus);
    return sys_write_list(text, &cpus);
}

static int64_t write_package_mask(const struct proc_at *at, struct text *text)
{
    struct sys_cpus cpus;

    cpus_beside(at, 1, &cpus);
    return sys_write_mask(text, &cpus);
}

static int64_t write_core(const struct proc_at *at, struct text *text)
{
    uint32_t apic_id = instance.plan.cpus[at->keys[0]].apic_id;
    uint32_t package = level_shift(1);

    return sys_write_number(text, (apic_id & ((1u << package) - 1)) >> level_shift(0));
}

static int64_t write_package(const struct proc_at *at, struct text *text)
{
    return sys_write_number(text, instance.plan.cpus[at->keys[0]].apic_id >> level_shift(1));
}

/* A package is taken to be one die. */
static int64_t write_die(const struct proc_at *at, struct text *text)
{
    (void)at;
    return sys_write_number(text, 0);
}

static const struct proc_row topology_rows[] = {
    {.name = "core_cpus", .write = write_core_mask},
    {.name = "core_cpus_list", .write = write_core_list},
    {.name = "core_id", .write = write_core},
    {.name = "core_siblings", .write = write_package_mask},
    {.name = "core_siblings_list", .write = write_package_list},
    {.name = "die_cpus", .write = write_package_mask},
    {.name = "die_cpus_list", .write = write_package_list},
    {.name = "die_id", .write = write_die},
    {.name = "package_cpus", .write = write_package_mask},
    {.name = "package_cpus_list", .write = write_package_list},
    {.name = "physical_package_id", .write = write_package},
    {.name = "thread_siblings", .write = write_core_mask},
    {.name = "thread_siblings_list", .write = write_core_list},
};
static const struct proc_directory topology = {.rows = topology_rows, .count = COUNT(topology_rows)};

/* --- numbered names --- */

bool sys_numbered(const char *name, size_t length, const char *prefix, uint32_t limit, uint64_t *number)
{
    size_t at = strlen(prefix);
    uint32_t value = 0;

    if (length <= at || length > at + 3 || strncmp(name, prefix, at) != 0 || (name[at] == '0' && length > at + 1))
        return false;
    for (; at < length; at++) {
        if (name[at] < '0' || name[at] > '9')
            return false;
        value = value * 10 + (uint32_t)(name[at] - '0');
    }
    *number = value;
    return value < limit;
}

void sys_add_numbered(struct directory *to, const char *prefix, uint32_t number, uint32_t mode)
{
    char name[16];
    int length = snprintf(name, sizeof(name), "%s%u", prefix, number);

    directory_add(to, name, (size_t)length, 100 + number, mode);
}

static int64_t give_link(char *out, size_t size, const char *format, uint64_t number)
{
    char text[32];
    int length = snprintf(text, sizeof(text), format, (uint32_t)number);

    if ((size_t)length > size)
        return -ENAMETOOLONG;
    memcpy(out, text, (size_t)length);
    return length;
}

/* --- node --- */

static bool node_has_cpu(uint32_t node)
{
    for (uint32_t i = 0; i < instance.plan.cpu_count; i++) {
        if (instance.plan.cpus[i].node == node && sys_is_online(i))
            return true;
    }
    return false;
}

/* Bytes of NODE that kernels own. */
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

/* What the kernels do not manage, their images and rings, is used. */
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

/* --- directories, which lead to each other --- */

static const struct proc_directory node_directory;
static const struct proc_directory cpu_directory;

static int64_t link_to_node(const struct proc_at *at, char *out, size_t size)
{
    return give_link(out, size, "../../node/node%u", at->keys[1]);
}

static int64_t link_to_cpu(const struct proc_at *at, char *out, size_t size)
{
    return give_link(out, size, "../../cpu/cpu%u", at->keys[0]);
}

static const struct proc_row node_link = {.name = "", .link = link_to_node, .directory = &node_directory};
static const struct proc_directory node_beside = {.rows = &node_link, .count = 1};
static const struct proc_row cpu_link = {.name = "", .link = link_to_cpu, .directory = &cpu_directory};
static const struct proc_directory cpu_beside = {.rows = &cpu_link, .count = 1};

static const struct proc_directory *find_own_node(struct proc_at *at, const char *name, size_t length)
{
    uint64_t node;

    if (!sys_numbered(name, length, "node", instance.plan.node_count, &node) ||
        instance.plan.cpus[at->keys[0]].node != node)
        return NULL;
    at->keys[1] = node;
    return &node_beside;
}

static void list_own_node(const struct proc_at *at, struct directory *to)
{
    sys_add_numbered(to, "node", instance.plan.cpus[at->keys[0]].node, FILE_LINK);
}

static const struct proc_directory *find_own_cpu(struct proc_at *at, const char *name, size_t length)
{
    uint64_t cpu;

    if (!sys_numbered(name, length, "cpu", instance.plan.cpu_count, &cpu) ||
        instance.plan.cpus[cpu].node != at->keys[1])
        return NULL;
    at->keys[0] = cpu;
    return &cpu_beside;
}

static void list_own_cpus(const struct proc_at *at, struct directory *to)
{
    for (uint32_t i = 0; i < instance.plan.cpu_count; i++) {
        if (instance.plan.cpus[i].node == at->keys[1])
            sys_add_numbered(to, "cpu", i, FILE_LINK);
    }
}

static int64_t write_this_online(const struct proc_at *at, struct text *text)
{
    return sys_write_number(text, sys_is_online((uint32_t)at->keys[0]) ? 1 : 0);
}

static const struct proc_row cpu_rows[] = {
    {.name = "cache", .directory = &sys_cache},
    {.name = "online", .write = write_this_online},
    {.name = "topology", .directory = &topology},
};
static const struct proc_directory cpu_directory = {
    .rows = cpu_rows, .count = COUNT(cpu_rows), .find = find_own_node, .list = list_own_node};

static const struct proc_row node_rows[] = {
    {.name = "cpulist", .write = write_node_list},    {.name = "cpumap", .write = write_node_mask},
    {.name = "distance", .write = write_distance},    {.name = "meminfo", .write = write_node_memory},
    {.name = "numastat", .write = write_numa_counts}, {.name = "vmstat", .write = write_node_vmstat},
};
static const struct proc_directory node_directory = {
    .rows = node_rows, .count = COUNT(node_rows), .find = find_own_cpu, .list = list_own_cpus};

static const struct proc_directory *find_cpu(struct proc_at *at, const char *name, size_t length)
{
    return sys_numbered(name, length, "cpu", instance.plan.cpu_count, &at->keys[0]) ? &cpu_directory : NULL;
}

static void list_cpus(const struct proc_at *at, struct directory *to)
{
    (void)at;
    for (uint32_t i = 0; i < instance.plan.cpu_count; i++)
        sys_add_numbered(to, "cpu", i, FILE_DIRECTORY);
}

static const struct proc_directory *find_node(struct proc_at *at, const char *name, size_t length)
{
    return sys_numbered(name, length, "node", instance.plan.node_count, &at->keys[1]) ? &node_directory : NULL;
}

static void list_nodes(const struct proc_at *at, struct directory *to)
{
    (void)at;
    for (uint32_t i = 0; i < instance.plan.node_count; i++)
        sys_add_numbered(to, "node", i, FILE_DIRECTORY);
}

static const struct proc_row all_cpus_rows[] = {
    {.name = "kernel_max", .write = write_last},  {.name = "offline", .write = write_offline},
    {.name = "online", .write = write_online},    {.name = "possible", .write = write_possible},
    {.name = "present", .write = write_possible},
};
static const struct proc_directory all_cpus = {
    .rows = all_cpus_rows, .count = COUNT(all_cpus_rows), .find = find_cpu, .list = list_cpus};

static const struct proc_row all_nodes_rows[] = {
    {.name = "has_cpu", .write = write_nodes_with_cpus},
    {.name = "has_memory", .write = write_nodes_with_memory},
    {.name = "has_normal_memory", .write = write_nodes_with_memory},
    {.name = "online", .write = write_nodes},
    {.name = "possible", .write = write_nodes},
};
static const struct proc_directory all_nodes = {
    .rows = all_nodes_rows, .count = COUNT(all_nodes_rows), .find = find_node, .list = list_nodes};

static const struct proc_row system_rows[] = {
    {.name = "cpu", .directory = &all_cpus},
    {.name = "node", .directory = &all_nodes},
};
static const struct proc_directory system_directory = {.rows = system_rows, .count = COUNT(system_rows)};
static const struct proc_row device_rows[] = {{.name = "system", .directory = &system_directory}};
static const struct proc_directory device_directory = {.rows = device_rows, .count = COUNT(device_rows)};
static const struct proc_row root_rows[] = {{.name = "devices", .directory = &device_directory}};
const struct proc_directory sys_directory = {.rows = root_rows, .count = COUNT(root_rows)};
