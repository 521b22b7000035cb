/* More of /proc/PID: resource limits, mounts, environment and arguments, and the resident memory of each area. */
#include "kernel/abi/errno.h"
#include "kernel/fs/proc/process_text.h"
#include "kernel/fs/proc/report.h"
#include "kernel/lib/string.h"
#include "kernel/process/reach.h"
#include "mm/area/area.h"
#include "mm/area/backing.h"
#include "mm/frame/heap.h"
#include "mm/space/wire.h"
#include "tasks/account/facts.h"
#include "tasks/process/call.h"
#include "tasks/process/permission.h"

#define LIMITS_TEXT 2048u
#define LINE_TEXT 512u /* maximum length of an area's lines */
#define PAGE_KB (PAGE_SIZE / 1024)

static int64_t error_of(int64_t error)
{
    return error == -ESRCH ? -ENOENT : error;
}

/* --- limits --- */

static void put_limit(struct text *text, uint64_t value)
{
    if (value == LIMIT_NONE)
        text_put(text, "%-20s ", "unlimited");
    else
        text_put(text, "%-20lu ", (unsigned long)value);
}

int64_t proc_write_limits(const struct proc_at *at, struct text *text)
{
    static const struct {
        const char *name, *unit;
    } rows[PROCESS_LIMITS] = {
        {"Max cpu time", "seconds"},    {"Max file size", "bytes"},      {"Max data size", "bytes"},
        {"Max stack size", "bytes"},    {"Max core file size", "bytes"}, {"Max resident set", "bytes"},
        {"Max processes", "processes"}, {"Max open files", "files"},     {"Max locked memory", "bytes"},
        {"Max address space", "bytes"}, {"Max file locks", "locks"},     {"Max pending signals", "signals"},
        {"Max msgqueue size", "bytes"}, {"Max nice priority", ""},       {"Max realtime priority", ""},
        {"Max realtime timeout", "us"}};
    int64_t error = proc_text(text, LIMITS_TEXT);

    if (error != 0)
        return error;
    text_put(text, "%-25s %-20s %-20s %-10s\n", "Limit", "Soft Limit", "Hard Limit", "Units");
    for (uint32_t i = 0; i < PROCESS_LIMITS && error == 0; i++) {
        struct msg_process_call call = {.id = (uint32_t)at->keys[0], .type = MSG_PROCESS_LIMIT, .limit.which = i};
        struct msg_process_result result;

        error = process_call(&call, &result);
        if (error != 0)
            break;
        text_put(text, "%-25s ", rows[i].name);
        put_limit(text, result.limit.soft);
        put_limit(text, result.limit.hard);
        text_put(text, "%-10s\n", rows[i].unit);
    }
    if (error != 0)
        heap_free(text->bytes, text->size);
    return error_of(error);
}

/* --- mountinfo: /proc/mounts with st_dev --- */

int64_t proc_write_mounts(const struct proc_at *at, struct text *text)
{
    struct process_facts process;
    int64_t error = error_of(process_facts_of((uint32_t)at->keys[0], &process));

    if (error == 0)
        error = proc_text(text, MOUNTS_TEXT);
    if (error == 0) {
        text_put(text, "1 1 0:1 / / rw - rootfs rootfs rw\n2 1 0:2 / /proc ro - proc proc ro\n"
                       "3 1 0:2 / /sys ro - sysfs sysfs ro\n");
        report_mounts(text, true);
    }
    return error;
}

/* --- environ, cmdline --- */

/* Appends SIZE bytes of a process's memory, for which TEXT has room; fewer if the process has unmapped them, has ended,
 * or has started another program. */
static void put_memory(struct text *text, const struct process_facts *process, uint64_t address, uint64_t size)
{
    struct msg_reach part = {.target = {.process = process->id, .program = process->program_ns}};
    uint64_t done = 0;
    int64_t count;

    do {
        part.address = address + done;
        part.size = size - done < REACH_MAX ? size - done : REACH_MAX;
        count = part.size > 0 ? reach_read(&part, text->bytes + text->length) : 0;
        if (count > 0) {
            done += (uint64_t)count;
            text->length += (uint64_t)count;
        }
    } while (count > 0);
}

/* The current bytes at the address where the program's environment was at its start. */
int64_t proc_write_environment(const struct proc_at *at, struct text *text)
{
    uint32_t id = (uint32_t)at->keys[0];
    struct process_facts process;
    int64_t error = error_of(process_facts_of(id, &process));

    if (error == 0 && credentials_may_reach(id, true) == -EPERM)
        error = -EACCES;
    if (error == 0)
        error = proc_text(text, process.environment_size + 1);
    if (error == 0 && process.space != 0)
        put_memory(text, &process, process.environment, process.environment_size);
    return error;
}

/* The current bytes at the address where the program's arguments were at its start. If the program has overwritten the
 * last NUL, the result is one string, which may extend into the environment (as Linux, fs/proc/base.c, get_mm_cmdline).
 */
int64_t proc_write_command(const struct proc_at *at, struct text *text)
{
    uint32_t id = (uint32_t)at->keys[0];
    struct process_facts process;
    int64_t error = error_of(process_facts_of(id, &process));
    uint64_t size, room, begin;

    if (error != 0)
        return error;
    size = process.arguments_size;
    room = size > PAGE_SIZE ? size : PAGE_SIZE;
    begin = process.environment - size;
    error = proc_text(text, room + 1);
    if (error != 0 || process.space == 0 || size == 0 || process.condition == PROCESS_ENDED) /* a zombie's is empty */
        return error;
    put_memory(text, &process, begin, size);
    if (text->length == size && text->bytes[size - 1] != '\0') {
        text->length = 0;
        put_memory(text, &process, begin, PAGE_SIZE);
        size = strnlen(text->bytes, text->length);
        text->length = size < text->length ? size + 1 : size;
    }
    return 0;
}

/* --- smaps --- */

struct details {
    struct text *text;
    uint32_t process;
    bool failed;
};

static void put_details(struct details *details, const struct msg_space_area *area)
{
    int64_t pages = reach_count(details->process, area->start, area->end - area->start);
    unsigned long kb = pages > 0 ? (unsigned long)pages * PAGE_KB : 0;

    if (proc_text_grow(details->text, LINE_TEXT) != 0) {
        details->failed = true;
        return;
    }
    text_put(details->text, "Size:           %8lu kB\nKernelPageSize:        4 kB\nMMUPageSize:           4 kB\n",
             (unsigned long)((area->end - area->start) / 1024));
    text_put(details->text, "Rss:            %8lu kB\nAnonymous:      %8lu kB\nSwap:                  0 kB\n", kb,
             !backing_is_file(area->backing) ? kb : 0);
    text_put(details->text, "Locked:         %8lu kB\nVmFlags:%s%s%s%s%s%s\n", (area->prot & AREA_LOCKED) != 0 ? kb : 0,
             (area->prot & AREA_READ) != 0 ? " rd" : "", (area->prot & AREA_WRITE) != 0 ? " wr" : "",
             (area->prot & AREA_EXEC) != 0 ? " ex" : "", (area->prot & AREA_SHARED) != 0 ? " sh" : "",
             (area->prot & AREA_GROWS) != 0 ? " gd" : "", (area->prot & AREA_LOCKED) != 0 ? " lo" : "");
}

static void put_details_of(void *context, const struct msg_space_area *area, const char *name)
{
    (void)name;
    put_details(context, area);
}

int64_t proc_write_smaps(const struct proc_at *at, struct text *text)
{
    struct details details = {.text = text, .process = (uint32_t)at->keys[0]};
    int64_t error = proc_write_areas(at, text, true, put_details_of, &details);

    if (error == 0 && details.failed) {
        heap_free(text->bytes, text->size);
        error = -ENOMEM;
    }
    return error;
}
