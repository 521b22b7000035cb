/* /sys/devices/system/cpu: sets of CPUs, and for each CPU its topology, caches and node. */
#include "kernel/arch/x86_64/base/instructions.h"
#include "kernel/fs/sys/internal.h"
#include "kernel/instance/instance.h"

#define LEAF_TOPOLOGY 0xbu /* of CPUID: shifts of APIC ids by level */
#define LEVEL_SHIFT 31u    /* mask of the shift in EAX */

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

/* The shift that turns an APIC id into the number of the core (LEVEL 0) or package (1) of the CPU. All CPUs are assumed
 * to be like the current one; a CPU without the leaf has packages of one core. */
static uint32_t level_shift(uint32_t level)
{
    if (cpuid(0, 0).eax < LEAF_TOPOLOGY || cpuid(LEAF_TOPOLOGY, level).ebx == 0)
        return 0;
    return cpuid(LEAF_TOPOLOGY, level).eax & LEVEL_SHIFT;
}

/* Writes, by WRITE, the CPUs that share with that of AT what has LEVEL. */
static int64_t write_beside(const struct proc_at *at, struct text *text, uint32_t level,
                            int64_t (*write)(struct text *text, const struct sys_cpus *cpus))
{
    uint32_t shift = level_shift(level);
    uint32_t mine = instance.plan.cpus[at->keys[0]].apic_id >> shift;
    struct sys_cpus cpus = {{0}};

    for (uint32_t i = 0; i < instance.plan.cpu_count; i++) {
        if (instance.plan.cpus[i].apic_id >> shift == mine && sys_is_online(i))
            sys_add(&cpus, i);
    }
    return write(text, &cpus);
}

static int64_t write_core_list(const struct proc_at *at, struct text *text)
{
    return write_beside(at, text, 0, sys_write_list);
}

static int64_t write_core_mask(const struct proc_at *at, struct text *text)
{
    return write_beside(at, text, 0, sys_write_mask);
}

static int64_t write_package_list(const struct proc_at *at, struct text *text)
{
    return write_beside(at, text, 1, sys_write_list);
}

static int64_t write_package_mask(const struct proc_at *at, struct text *text)
{
    return write_beside(at, text, 1, sys_write_mask);
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

/* A package is assumed to be one die. */
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

/* --- directories --- */

static int64_t link_to_node(const struct proc_at *at, char *out, size_t size)
{
    return sys_give_link(out, size, "../../node/node%u", at->keys[1]);
}

static const struct proc_row node_link = {.name = "", .link = link_to_node, .directory = &sys_node};
static const struct proc_directory node_beside = {.rows = &node_link, .count = 1};
static const struct proc_directory *find_own_node(struct proc_at *at, const char *name, size_t length)
{
    uint64_t node;

    if (!sys_numbered(name, length, "node", instance.plan.node_count, &node) ||
        instance.plan.cpus[at->keys[0]].node != node)
        return NULL;
    at->keys[1] = node;
    return &node_beside;
}

static void list_own_node(const struct proc_at *at, struct dirents *to)
{
    sys_add_numbered(to, "node", instance.plan.cpus[at->keys[0]].node, FILE_LINK);
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
const struct proc_directory sys_cpu = {
    .rows = cpu_rows, .count = COUNT(cpu_rows), .find = find_own_node, .list = list_own_node};

static const struct proc_directory *find_cpu(struct proc_at *at, const char *name, size_t length)
{
    return sys_numbered(name, length, "cpu", instance.plan.cpu_count, &at->keys[0]) ? &sys_cpu : NULL;
}

static void list_cpus(const struct proc_at *at, struct dirents *to)
{
    (void)at;
    for (uint32_t i = 0; i < instance.plan.cpu_count; i++)
        sys_add_numbered(to, "cpu", i, FILE_DIRECTORY);
}

static const struct proc_row all_cpus_rows[] = {
    {.name = "kernel_max", .write = write_last},  {.name = "offline", .write = write_offline},
    {.name = "online", .write = write_online},    {.name = "possible", .write = write_possible},
    {.name = "present", .write = write_possible},
};
const struct proc_directory sys_all_cpus = {
    .rows = all_cpus_rows, .count = COUNT(all_cpus_rows), .find = find_cpu, .list = list_cpus};
