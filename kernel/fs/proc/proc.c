/* /proc. See the header. */
#include "kernel/fs/proc/proc.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/base/instructions.h"
#include "kernel/fs/proc/machine.h"
#include "kernel/fs/proc/process.h"
#include "kernel/fs/proc/report.h"
#include "kernel/fs/proc/sysvipc.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"
#include "kernel/machine/host.h"
#include "mm/area/area.h"
#include "mm/frame/heap.h"
#include "msg/slice.h"
#include "tasks/numa/numa.h"
#include "tasks/process/group.h"
#include "tasks/quota/quota.h"

#define TREES_MAX 2u /* /proc and /sys */
#define SMALL_TEXT 1024u
#define COPIED_AT_ONCE 65536u /* bytes between two looks whether the slice is over */
#define CPU_TEXT 512u         /* maximum length of one CPU's part of cpuinfo */

int64_t proc_text(struct text *text, size_t size)
{
    *text = (struct text){.bytes = heap_alloc(size), .size = size};
    return text->bytes == NULL ? -ENOMEM : 0;
}

int64_t proc_text_grow(struct text *text, size_t more)
{
    size_t size = text->size;
    char *bytes;

    while (size - text->length <= more)
        size *= 2;
    if (size == text->size)
        return 0;
    bytes = heap_alloc_unset(size);
    if (bytes == NULL)
        return -ENOMEM;
    for (size_t done = 0, part; done < text->length; done += part) {
        part = text->length - done < COPIED_AT_ONCE ? text->length - done : COPIED_AT_ONCE;
        memcpy(bytes + done, text->bytes + done, part);
        slice_check();
    }
    heap_free(text->bytes, text->size);
    text->bytes = bytes;
    text->size = size;
    return 0;
}

static int64_t write_memory(const struct proc_at *at, struct text *text)
{
    struct report_machine machine;
    int64_t error = proc_text(text, SMALL_TEXT);

    (void)at;
    if (error != 0)
        return error;
    report_machine(&machine);
    text_put(text, "MemTotal:       %8lu kB\nMemFree:        %8lu kB\nMemAvailable:   %8lu kB\n",
             (unsigned long)(machine.frames * 4), (unsigned long)(machine.free * 4), (unsigned long)(machine.free * 4));
    text_put(text,
             "Buffers:               0 kB\nCached:         %8lu kB\nSwapTotal:             0 kB\n"
             "SwapFree:              0 kB\nShmem:          %8lu kB\nSlab:           %8lu kB\n",
             (unsigned long)(machine.files * 4), (unsigned long)(machine.files * 4),
             (unsigned long)(machine.kernel * 4));
    return 0;
}

static int64_t write_version(const struct proc_at *at, struct text *text)
{
    int64_t error = proc_text(text, SMALL_TEXT);

    (void)at;
    if (error == 0)
        text_put(text, "Linux version 6.1.0-kettle (Kettle, %u kernels)\n", instance.kernels);
    return error;
}

static int64_t write_mounts(const struct proc_at *at, struct text *text)
{
    int64_t error = proc_text(text, MOUNTS_TEXT);

    (void)at;
    if (error == 0) {
        text_put(text, "rootfs / rootfs rw 0 0\nproc /proc proc ro 0 0\n");
        report_mounts(text, false);
    }
    return error;
}

/* File systems that need no disk. */
static int64_t write_filesystems(const struct proc_at *at, struct text *text)
{
    int64_t error = proc_text(text, SMALL_TEXT);

    (void)at;
    if (error == 0)
        text_put(text, "nodev\tsysfs\nnodev\tproc\nnodev\trootfs\nnodev\tdevtmpfs\nnodev\t9p\n");
    return error;
}

/* The CPU's brand string: 48 bytes in three CPUID leaves. */
static void cpu_name(char name[49])
{
    memset(name, 0, 49);
    if (cpuid(0x80000000, 0).eax < 0x80000004)
        return;
    for (uint32_t i = 0; i < 3; i++) {
        struct cpuid_result r = cpuid(0x80000002 + i, 0);
        uint32_t words[4] = {r.eax, r.ebx, r.ecx, r.edx};

        memcpy(name + 16 * (size_t)i, words, sizeof(words));
    }
}

static int64_t write_cpus(const struct proc_at *at, struct text *text)
{
    struct cpuid_result first = cpuid(0, 0);
    uint32_t vendor[4] = {first.ebx, first.edx, first.ecx, 0};
    uint32_t signature = cpuid(1, 0).eax;
    uint32_t family = signature >> 8 & 15, model = signature >> 4 & 15;
    char name[49];
    int64_t error = proc_text(text, (instance.plan.cpu_count + 1) * CPU_TEXT);

    (void)at;
    if (error != 0)
        return error;
    if (family == 6 || family == 15)
        model |= (signature >> 16 & 15) << 4;
    if (family == 15)
        family += signature >> 20 & 0xff;
    cpu_name(name);
    /* All CPUs are assumed to be like the current one. */
    for (uint32_t i = 0; i < instance.plan.cpu_count; i++) {
        if (instance.plan.cpus[i].kernel < 0)
            continue;
        text_put(text, "processor\t: %u\nvendor_id\t: %s\ncpu family\t: %u\nmodel\t\t: %u\nmodel name\t: %s\n", i,
                 (const char *)vendor, family, model, name);
        text_put(text, "stepping\t: %u\napicid\t\t: %u\nphysical id\t: %u\nkernel\t\t: %d\n\n", signature & 15,
                 instance.plan.cpus[i].apic_id, instance.plan.cpus[i].node, instance.plan.cpus[i].kernel);
    }
    return 0;
}

/* --- /proc/kettle: rows without fixed names, by number of report --- */

static int64_t write_report_file(const struct proc_at *at, struct text *text)
{
    return report_write(text, (uint32_t)at->keys[0]);
}

static const struct proc_row report_row = {.name = "", .write = write_report_file};
static const struct proc_directory report_file = {.rows = &report_row, .count = 1};

static const struct proc_directory *find_report(struct proc_at *at, const char *name, size_t length)
{
    char copy[32];
    int64_t number;

    if (length >= sizeof(copy))
        return NULL;
    memcpy(copy, name, length);
    copy[length] = '\0';
    number = report_find(copy);
    at->keys[0] = (uint64_t)number;
    return number < 0 ? NULL : &report_file;
}

static void list_reports(const struct proc_at *at, struct dirents *to)
{
    (void)at;
    report_list(to);
}

static const struct proc_directory kettle = {.find = find_report, .list = list_reports};

/* --- /proc/sys: kernel settings, as call_uname returns them --- */

static int64_t write_constant(struct text *text, const char *line)
{
    int64_t error = proc_text(text, SMALL_TEXT);

    if (error == 0)
        text_put(text, "%s\n", line);
    return error;
}

static int64_t write_type(const struct proc_at *at, struct text *text)
{
    (void)at;
    return write_constant(text, "Linux");
}

static int64_t write_release(const struct proc_at *at, struct text *text)
{
    (void)at;
    return write_constant(text, "6.1.0-kettle");
}

static int64_t write_name(struct text *text, enum host_name which)
{
    struct host_names names;
    int error = host_names(&names);

    return error != 0 ? error : write_constant(text, names.text[which]);
}

static int64_t write_host(const struct proc_at *at, struct text *text)
{
    (void)at;
    return write_name(text, HOST_NODE);
}

static int64_t write_domain(const struct proc_at *at, struct text *text)
{
    (void)at;
    return write_name(text, HOST_DOMAIN);
}

/* One above the highest id: 65536 for each kernel that there may be. */
static int64_t write_ids(const struct proc_at *at, struct text *text)
{
    (void)at;
    return write_constant(text, "4194304");
}

/* 1: memory is always overcommitted; frames are allocated when a page is touched. */
static int64_t write_overcommit(const struct proc_at *at, struct text *text)
{
    (void)at;
    return write_constant(text, "1");
}

static int64_t write_hard_links(const struct proc_at *at, struct text *text)
{
    (void)at;
    return write_constant(text, "1");
}

static int64_t write_pipe_most(const struct proc_at *at, struct text *text)
{
    (void)at;
    return write_constant(text, "1048576");
}

static int64_t write_number(struct text *text, uint64_t number)
{
    char digits[24];

    snprintf(digits, sizeof(digits), "%lu", (unsigned long)number);
    return write_constant(text, digits);
}

static int64_t write_pipe_hard(const struct proc_at *at, struct text *text)
{
    (void)at;
    return write_number(text, quota_limit(QUOTA_PIPE_PAGES));
}

static int64_t write_pipe_soft(const struct proc_at *at, struct text *text)
{
    (void)at;
    return write_number(text, quota_pipe_soft());
}

static int64_t write_watches(const struct proc_at *at, struct text *text)
{
    (void)at;
    return write_number(text, quota_limit(QUOTA_WATCHES));
}

static const struct proc_row setting_epoll_rows[] = {{.name = "max_user_watches", .write = write_watches}};
static const struct proc_directory setting_epoll = {.rows = setting_epoll_rows, .count = 1};
static const struct proc_row setting_file_rows[] = {{.name = "epoll", .directory = &setting_epoll},
                                                    {.name = "pipe-max-size", .write = write_pipe_most},
                                                    {.name = "pipe-user-pages-hard", .write = write_pipe_hard},
                                                    {.name = "pipe-user-pages-soft", .write = write_pipe_soft},
                                                    {.name = "protected_hardlinks", .write = write_hard_links}};
static const struct proc_directory setting_file = {.rows = setting_file_rows,
                                                   .count = sizeof(setting_file_rows) / sizeof(setting_file_rows[0])};
static int64_t write_numa_balancing(const struct proc_at *at, struct text *text)
{
    (void)at;
    return write_number(text, strcmp(numa_policy(), "none") != 0);
}

static const struct proc_row setting_kernel_rows[] = {
    {.name = "domainname", .write = write_domain},
    {.name = "hostname", .write = write_host},
    {.name = "numa_balancing", .write = write_numa_balancing},
    {.name = "osrelease", .write = write_release},
    {.name = "ostype", .write = write_type},
    {.name = "pid_max", .write = write_ids},
    {.name = "shmall", .write = proc_write_shm_all},
    {.name = "shmmax", .write = proc_write_shm_max},
    {.name = "shmmni", .write = proc_write_shm_count},
};
static const struct proc_directory setting_kernel = {
    .rows = setting_kernel_rows, .count = sizeof(setting_kernel_rows) / sizeof(setting_kernel_rows[0])};
static int64_t write_areas(const struct proc_at *at, struct text *text)
{
    (void)at;
    return write_number(text, AREA_COUNT_MAX);
}

static const struct proc_row setting_memory_rows[] = {{.name = "max_map_count", .write = write_areas},
                                                      {.name = "overcommit_memory", .write = write_overcommit}};
static const struct proc_directory setting_memory = {
    .rows = setting_memory_rows, .count = sizeof(setting_memory_rows) / sizeof(setting_memory_rows[0])};
static const struct proc_row setting_rows[] = {
    {.name = "fs", .directory = &setting_file},
    {.name = "kernel", .directory = &setting_kernel},
    {.name = "vm", .directory = &setting_memory},
};
static const struct proc_directory settings = {.rows = setting_rows,
                                               .count = sizeof(setting_rows) / sizeof(setting_rows[0])};

static const struct proc_row root_rows[] = {
    {.name = "cpuinfo", .write = write_cpus},
    {.name = "filesystems", .write = write_filesystems},
    {.name = "kettle", .directory = &kettle},
    {.name = "loadavg", .write = proc_write_load},
    {.name = "meminfo", .write = write_memory},
    {.name = "mounts", .write = write_mounts},
    {.name = "self", .link = process_link_self, .directory = &process_directory, .enter = process_enter_self},
    {.name = "stat", .write = proc_write_machine},
    {.name = "sys", .directory = &settings},
    {.name = "sysvipc", .directory = &proc_ipc_directory},
    {.name = "thread-self", .link = process_link_thread, .directory = &thread_directory, .enter = process_enter_thread},
    {.name = "uptime", .write = proc_write_uptime},
    {.name = "version", .write = write_version},
};
static const struct proc_directory root = {
    .rows = root_rows, .count = sizeof(root_rows) / sizeof(root_rows[0]), .find = process_find, .list = process_list};
/* /proc and /sys, under their names in the root directory. */
static struct proc_row tree_rows[TREES_MAX]; /* [i] */
static struct proc_directory trees = {.rows = tree_rows};
static const struct proc_row root_row = {.name = "", .directory = &trees};

void proc_add_tree(const char *name, const struct proc_directory *directory)
{
    assert(trees.count < TREES_MAX);
    tree_rows[trees.count++] = (struct proc_row){.name = name, .directory = directory};
}

void proc_init(void)
{
    report_init();
    proc_add_tree("proc", &root);
}

static const struct proc_row *find_row(const struct proc_directory *directory, const char *name, size_t length)
{
    for (uint32_t i = 0; i < directory->count; i++) {
        if (strncmp(directory->rows[i].name, name, length) == 0 && directory->rows[i].name[length] == '\0')
            return &directory->rows[i];
    }
    return NULL;
}

/* Looks a name up with the directory's `find`, which returns a directory. A file is represented by a directory whose
 * only row is named "". */
static const struct proc_row *find_other(const struct proc_directory *directory, const char *name, size_t length,
                                         struct proc_at *at, struct proc_row *made)
{
    const struct proc_directory *found = directory->find != NULL ? directory->find(at, name, length) : NULL;

    if (found == NULL)
        return NULL;
    if (found->count == 1 && found->rows[0].name[0] == '\0')
        return &found->rows[0];
    *made = (struct proc_row){.name = "", .directory = found};
    return made;
}

/* Finds the row of PATH. *NUMBER is its inode number. MADE: memory for a row that is made here. */
static int64_t find(const char *path, struct proc_at *at, const struct proc_row **out, struct proc_row *made,
                    uint64_t *number)
{
    const struct proc_row *row = &root_row;

    *at = (struct proc_at){{0}};
    *number = 1;
    while (*path != '\0') {
        const char *end = strchr(path, '/');
        size_t length = end != NULL ? (size_t)(end - path) : strlen(path);
        const struct proc_directory *directory = row->directory;

        if (directory == NULL)
            return -ENOTDIR;
        if (row->enter != NULL)
            row->enter(at);
        for (size_t i = 0; i < length; i++) /* FNV-1a */
            *number = (*number ^ (uint8_t)path[i]) * 0x100000001b3ull;
        row = find_row(directory, path, length);
        if (row == NULL)
            row = find_other(directory, path, length, at, made);
        if (row == NULL)
            return -ENOENT;
        path += length + (end != NULL ? 1 : 0);
    }
    *out = row;
    return 0;
}

/* In /sys, directories have the owner's write permission as in Linux, although nothing can be made there. */
static bool is_system(const char *name)
{
    return strncmp(name, "sys", 3) == 0 && (name[3] == '\0' || name[3] == '/');
}

static void facts_of(const struct proc_row *row, bool system, uint64_t number, struct file_facts *facts)
{
    *facts = (struct file_facts){.inode = number, .device = 2, .mode = FILE_REGULAR | 0444};
    if (row->link != NULL)
        facts->mode = FILE_LINK | 0777;
    else if (row->directory != NULL)
        facts->mode = FILE_DIRECTORY | (system ? 0755 : 0555);
    else if (row->mode != 0)
        facts->mode = FILE_REGULAR | row->mode;
}

bool proc_has(const char *name)
{
    const char *end = strchr(name, '/');

    return find_row(&trees, name, end != NULL ? (size_t)(end - name) : strlen(name)) != NULL;
}

int64_t proc_stat(const char *name, struct file_facts *facts)
{
    const struct proc_row *row;
    struct proc_row made;
    struct proc_at at;
    uint64_t number;
    int64_t error = find(name, &at, &row, &made, &number);

    if (error == 0)
        facts_of(row, is_system(name), number, facts);
    return error;
}

int64_t proc_link(const char *name, char *out, size_t size)
{
    const struct proc_row *row;
    struct proc_row made;
    struct proc_at at;
    uint64_t number;
    int64_t error = find(name, &at, &row, &made, &number);

    if (error != 0)
        return error;
    return row->link != NULL ? row->link(&at, out, size) : -EINVAL;
}

static int64_t open_directory(const char *name, const struct proc_row *row, const struct proc_at *at,
                              const struct file_facts *facts, uint32_t flags, struct file **out)
{
    const struct proc_directory *directory = row->directory;
    struct dirents list = {.bytes = NULL};

    if (directory->open != NULL)
        return directory->open(at, name, facts, flags, out);
    dirents_add(&list, ".", 1, facts->inode, FILE_DIRECTORY);
    dirents_add(&list, "..", 2, 1, FILE_DIRECTORY);
    for (uint32_t i = 0; i < directory->count; i++) {
        struct file_facts child;

        facts_of(&directory->rows[i], false, facts->inode + 1 + i, &child);
        dirents_add(&list, directory->rows[i].name, strlen(directory->rows[i].name), child.inode, child.mode);
    }
    if (directory->list != NULL)
        directory->list(at, &list);
    return dirents_open(&list, name, facts, flags, out);
}

int64_t proc_open(const char *name, uint32_t flags, struct file **out)
{
    const struct proc_row *row;
    struct file_facts facts;
    struct proc_row made;
    struct proc_at at;
    struct text text;
    uint64_t number;
    int64_t error = find(name, &at, &row, &made, &number);

    if (error != 0)
        return error;
    facts_of(row, is_system(name), number, &facts);
    if (row->link != NULL)
        return -ELOOP;
    if (row->directory != NULL)
        return open_directory(name, row, &at, &facts, flags, out);
    if (row->open != NULL)
        return row->open(&at, &facts, flags, out);
    assert(row->write != NULL); /* a row that is neither a link nor a directory has WRITE or OPEN */
    error = row->write(&at, &text);
    if (error != 0)
        return error;
    facts.size = text.length;
    *out = file_create_data(&file_memory_kind, &facts, flags, text.bytes, text.size);
    return *out == NULL ? -ENOMEM : 0;
}
