/* Load averages and CPU times of the machine. See the header. */
#include "kernel/fs/proc/machine.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/fs/proc/report.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"

#define SECOND 1000000000ull
#define TICK 10000000ull /* ns; 100 ticks per second */
#define STAT_LINE 160u   /* maximum length of a CPU's line */
#define SMALL_TEXT 1024u

int64_t proc_write_uptime(const struct proc_at *at, struct text *text)
{
    struct report_load load;
    int64_t error = report_load(&load);
    uint64_t now = clock_now();

    (void)at;
    if (error == 0)
        error = proc_text(text, SMALL_TEXT);
    if (error == 0)
        text_put(text, "%lu.%02lu %lu.%02lu\n", (unsigned long)(now / SECOND), (unsigned long)(now % SECOND / TICK),
                 (unsigned long)(load.idle_ns / SECOND), (unsigned long)(load.idle_ns % SECOND / TICK));
    return error;
}

static void put_average(struct text *text, uint64_t average)
{
    uint64_t hundredths = ((average >> (LOAD_UNIT_SHIFT - 16)) * 100 + (1u << 15)) >> 16;

    text_put(text, "%lu.%02lu ", (unsigned long)(hundredths / 100), (unsigned long)(hundredths % 100));
}

int64_t proc_write_load(const struct proc_at *at, struct text *text)
{
    struct report_machine machine;
    struct report_load load;
    int64_t error = report_load(&load);

    (void)at;
    if (error == 0)
        error = proc_text(text, SMALL_TEXT);
    if (error != 0)
        return error;
    report_machine(&machine);
    for (uint32_t i = 0; i < LOAD_AVERAGES; i++)
        put_average(text, load.average[i]);
    text_put(text, "%lu/%lu %lu\n", (unsigned long)load.ready, (unsigned long)machine.threads,
             (unsigned long)machine.last);
    return 0;
}

/* NAME's line of /proc/stat: user, nice, system and idle time; the other times do not exist and are 0. */
static void put_times(struct text *text, const char *name, const struct cpu_use *use)
{
    text_put(text, "%s %lu 0 %lu %lu 0 0 0 0 0 0\n", name, (unsigned long)(use->user_ns / TICK),
             (unsigned long)(use->system_ns / TICK), (unsigned long)(use->idle_ns / TICK));
}

static void add(struct cpu_use *sum, const struct cpu_use *more)
{
    sum->user_ns += more->user_ns;
    sum->system_ns += more->system_ns;
    sum->idle_ns += more->idle_ns;
    sum->switches += more->switches;
    sum->ready += more->ready;
}

int64_t proc_write_machine(const struct proc_at *at, struct text *text)
{
    struct cpu_use sum = {.ready = 0};
    struct report_machine machine;
    struct report_cpu cpu;
    struct text all;
    int64_t error = report_cpus(&all);
    char name[16];

    (void)at;
    if (error != 0)
        return error;
    error = proc_text(text, SMALL_TEXT + all.length / sizeof(cpu) * STAT_LINE);
    for (size_t done = 0; error == 0 && done < all.length; done += sizeof(cpu)) {
        memcpy(&cpu, all.bytes + done, sizeof(cpu));
        add(&sum, &cpu.use);
    }
    if (error == 0)
        put_times(text, "cpu ", &sum);
    for (size_t done = 0; error == 0 && done < all.length; done += sizeof(cpu)) {
        memcpy(&cpu, all.bytes + done, sizeof(cpu));
        snprintf(name, sizeof(name), "cpu%lu", (unsigned long)cpu.number);
        put_times(text, name, &cpu.use);
    }
    heap_free(all.bytes, all.size);
    if (error != 0)
        return error;
    report_machine(&machine);
    text_put(text, "ctxt %lu\nbtime %lu\nprocesses %lu\nprocs_running %lu\nprocs_blocked 0\n",
             (unsigned long)sum.switches, (unsigned long)(clock_epoch() / SECOND), (unsigned long)machine.made,
             (unsigned long)sum.ready);
    return 0;
}
