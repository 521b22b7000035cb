/* /sys. See the header. CPUs have the plan's numbers. A CPU is possible and present always, and online while its kernel
 * runs; a CPU that the plan gives to no kernel is never online.
 *
 * at->keys: CPU, node. */
#include "kernel/fs/sys/sys.h"

#include "kernel/abi/errno.h"
#include "kernel/fs/sys/internal.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"
#include "msg/request/call.h"

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

int64_t sys_write_mask(struct text *text, const struct sys_cpus *cpus)
{
    int64_t error = proc_text(text, TEXT_SIZE);

    if (error == 0) {
        text_put_mask(text, cpus->bits, instance.plan.cpu_count);
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

void sys_add_numbered(struct dirents *to, const char *prefix, uint32_t number, uint32_t mode)
{
    char name[16];
    int length = snprintf(name, sizeof(name), "%s%u", prefix, number);

    dirents_add(to, name, (size_t)length, 100 + number, mode);
}

int64_t sys_give_link(char *out, size_t size, const char *format, uint64_t number)
{
    char text[32];
    int length = snprintf(text, sizeof(text), format, (uint32_t)number);

    if ((size_t)length > size)
        return -ENAMETOOLONG;
    memcpy(out, text, (size_t)length);
    return length;
}

static const struct proc_row system_rows[] = {
    {.name = "cpu", .directory = &sys_all_cpus},
    {.name = "node", .directory = &sys_all_nodes},
};
static const struct proc_directory system_directory = {.rows = system_rows, .count = COUNT(system_rows)};
static const struct proc_row device_rows[] = {{.name = "system", .directory = &system_directory}};
static const struct proc_directory device_directory = {.rows = device_rows, .count = COUNT(device_rows)};
static const struct proc_row policy_rows[] = {{.name = "weighted_interleave", .directory = &sys_weights}};
static const struct proc_directory policy_directory = {.rows = policy_rows, .count = COUNT(policy_rows)};
static const struct proc_row memory_rows[] = {{.name = "mempolicy", .directory = &policy_directory}};
static const struct proc_directory memory_directory = {.rows = memory_rows, .count = COUNT(memory_rows)};
static const struct proc_row kernel_rows[] = {{.name = "mm", .directory = &memory_directory}};
static const struct proc_directory kernel_directory = {.rows = kernel_rows, .count = COUNT(kernel_rows)};
static const struct proc_row root_rows[] = {
    {.name = "devices", .directory = &device_directory},
    {.name = "kernel", .directory = &kernel_directory},
};
const struct proc_directory sys_directory = {.rows = root_rows, .count = COUNT(root_rows)};

void sys_init(void)
{
    proc_add_tree("sys", &sys_directory);
}
