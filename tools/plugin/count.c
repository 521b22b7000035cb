/* A QEMU plugin that counts guest instructions between markers, for each CPU: see README.md. This file: its arguments,
 * what it has QEMU call at each instruction, and the file it writes at the end.
 *
 * Each instruction has its own callback, before it executes. Counting whole blocks would be faster and wrong: a block
 * that a fault or a device access cuts short has not executed all its instructions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/plugin/numa/numa.h"
#include "tools/plugin/profile.h"
#include "tools/plugin/qemu_api.h"
#include "tools/plugin/region.h"

/* The marker of userland/bench/mark.h: nopl imm32(%rax,%rax,1) with the number 0x4b54 << 16 | kind << 8 | region. */
#define MARKER_SIZE 8
#define MARKER_HIGH 0x4b54
#define MARKER_BEGIN 1
#define MARKER_END 2

/* Addresses from LOW up to HIGH, HIGH excluded. */
struct range {
    uint64_t low;
    uint64_t high;
};

/* A marker's callback gets its region and column in the place of a pointer. */
#define MARKER_DATA(region, column) ((void *)(uintptr_t)((region) << 8 | (column)))
#define DATA_REGION(data) ((unsigned int)((uintptr_t)(data) >> 8))
#define DATA_COLUMN(data) ((enum column)((uintptr_t)(data)&0xff))

int qemu_plugin_version = QEMU_API_VERSION;

/* All set once, by qemu_plugin_install. */
static struct range *idle_ranges;
static size_t idle_range_count;
static const char *out_path;
static FILE *out;
static bool profiling;
static const char *model_path; /* of a NUMA model, or NULL */
static const char *trace_path; /* or NULL */
static enum trace_choice trace_choice;
static uint32_t trace_every = 1;

static void count_instruction(unsigned int cpu, void *column)
{
    region_count(cpu, (enum column)(uintptr_t)column);
}

static void count_instruction_at(unsigned int cpu, void *data)
{
    struct site *site = data;
    region_count(cpu, site->column);
    if (region_any_open()) {
        profile_count(site);
    }
}

/* A marker itself is outside its region: counted before the region begins, and after it ended. */
static void pass_begin(unsigned int cpu, void *data)
{
    region_count(cpu, DATA_COLUMN(data));
    region_begin(DATA_REGION(data));
    if (model_path) {
        numa_region_begin();
    }
}

static void pass_end(unsigned int cpu, void *data)
{
    region_end(DATA_REGION(data));
    region_count(cpu, DATA_COLUMN(data));
}

/* The upper half of the address space is the kernel's, in Kettle and in Linux. */
static enum column column_of(uint64_t address)
{
    if (address >> 63 == 0) {
        return COLUMN_USER;
    }
    for (size_t i = 0; i < idle_range_count; i++) {
        if (address >= idle_ranges[i].low && address < idle_ranges[i].high) {
            return COLUMN_IDLE;
        }
    }
    return COLUMN_KERNEL;
}

/* The marker kind and region of an instruction; false when it is no marker. */
static bool read_marker(const struct qemu_plugin_insn *insn, unsigned int *kind, unsigned int *region)
{
    static const uint8_t opcode[] = {0x0f, 0x1f, 0x84, 0x00};
    if (qemu_plugin_insn_size(insn) != MARKER_SIZE) {
        return false;
    }
    const uint8_t *bytes = qemu_plugin_insn_data(insn);
    if (memcmp(bytes, opcode, sizeof(opcode)) != 0 || bytes[6] != (MARKER_HIGH & 0xff) ||
        bytes[7] != MARKER_HIGH >> 8) {
        return false;
    }
    *region = bytes[4];
    *kind = bytes[5];
    return *kind == MARKER_BEGIN || *kind == MARKER_END;
}

static void instrument(struct qemu_plugin_insn *insn, const struct qemu_plugin_insn *previous)
{
    uint64_t address = qemu_plugin_insn_vaddr(insn);
    enum column column = column_of(address);
    unsigned int kind;
    unsigned int region;
    qemu_plugin_insn_exec_cb_t callback = count_instruction;
    void *data = (void *)(uintptr_t)column;
    if (read_marker(insn, &kind, &region)) {
        callback = kind == MARKER_BEGIN ? pass_begin : pass_end;
        data = MARKER_DATA(region, column);
    } else if (profiling && column != COLUMN_USER) {
        callback = count_instruction_at;
        data = profile_site(address, column);
    }
    if (model_path) {
        numa_instrument(insn, previous, column);
    }
    qemu_plugin_register_vcpu_insn_exec_cb(insn, callback, QEMU_PLUGIN_CB_NO_REGS, data);
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    (void)id;
    const struct qemu_plugin_insn *previous = NULL;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, i);
        instrument(insn, previous);
        previous = insn;
    }
}

static void write_counts(qemu_plugin_id_t id, void *unused)
{
    (void)id;
    (void)unused;
    fputs("{\"counts\": ", out);
    region_write(out);
    if (profiling) {
        fputs(",\n\"profile\": ", out);
        profile_write(out);
    }
    if (model_path) {
        fputs(",\n\"numa_model\": ", out);
        numa_write(out);
    }
    fputs("}\n", out);
    bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        fprintf(stderr, "count.so: cannot write %s: %s\n", out_path, strerror(errno));
    }
}

/* Adds the range "LOW-HIGH", in hexadecimal; false when it is none. */
static bool add_idle_range(const char *text)
{
    struct range range;
    char *end;
    errno = 0;
    range.low = strtoull(text, &end, 16);
    if (end == text || *end != '-') {
        return false;
    }
    text = end + 1;
    range.high = strtoull(text, &end, 16);
    if (end == text || *end != '\0' || errno != 0 || range.low >= range.high || range.low >> 63 == 0) {
        return false;
    }
    struct range *grown = realloc(idle_ranges, (idle_range_count + 1) * sizeof(*idle_ranges));
    if (!grown) {
        return false;
    }
    idle_ranges = grown;
    idle_ranges[idle_range_count++] = range;
    return true;
}

/* Which accesses a trace has. */
static bool take_trace_argument(const char *argument)
{
    static const char *const choices[] = {"all", "misses", "memory"};
    if (strncmp(argument, "trace-every=", 12) == 0) {
        char *end;
        unsigned long every = strtoul(argument + 12, &end, 10);
        trace_every = (uint32_t)every;
        return *end == '\0' && every >= 1 && every <= UINT32_MAX;
    }
    for (int i = TRACE_ALL; strncmp(argument, "trace-of=", 9) == 0 && i <= TRACE_MEMORY; i++) {
        if (strcmp(argument + 9, choices[i]) == 0) {
            trace_choice = (enum trace_choice)i;
            return true;
        }
    }
    return false;
}

static bool take_argument(const char *argument)
{
    if (strncmp(argument, "out=", 4) == 0 && argument[4] != '\0') {
        out_path = argument + 4;
        return true;
    }
    if (strncmp(argument, "idle=", 5) == 0) {
        return add_idle_range(argument + 5);
    }
    if (strcmp(argument, "profile=on") == 0) {
        profiling = true;
        return true;
    }
    if (strncmp(argument, "model=", 6) == 0 && argument[6] != '\0') {
        model_path = strdup(argument + 6);
        return model_path != NULL;
    }
    if (strncmp(argument, "trace=", 6) == 0 && argument[6] != '\0') {
        trace_path = strdup(argument + 6);
        return trace_path != NULL;
    }
    return take_trace_argument(argument);
}

static int refuse(const char *format, const char *what)
{
    fputs("count.so: ", stderr);
    fprintf(stderr, format, what);
    fputc('\n', stderr);
    return -1;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    if (!qemu_serves(info, "count.so")) {
        return -1;
    }
    for (int i = 0; i < argc; i++) {
        if (!take_argument(argv[i])) {
            return refuse("bad argument '%s' (out=FILE, idle=LOW-HIGH, profile=on, model=FILE, trace=FILE, trace-of=, "
                          "trace-every=)",
                          argv[i]);
        }
    }
    if (!out_path) {
        return refuse("the argument %s is missing", "out=FILE");
    }
    /* QEMU frees its arguments when this returns. */
    out_path = strdup(out_path);
    unsigned int cpus = (unsigned int)info->system.max_vcpus;
    const char *problem = model_path ? numa_setup(model_path, cpus) : NULL;
    if (problem) {
        return refuse("%s", problem);
    }
    if (trace_path && !model_path) {
        return refuse("a trace needs %s", "model=FILE");
    }
    if (!out_path || !region_setup(cpus, model_path ? numa_counter_count() : COLUMN_COUNT) ||
        (model_path && !numa_start())) {
        return refuse("no memory%s", "");
    }
    out = fopen(out_path, "we");
    if (!out) {
        return refuse("cannot write %s", out_path);
    }
    if (trace_path && !numa_trace(trace_path, trace_choice, trace_every)) {
        return refuse("cannot write %s", trace_path);
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    qemu_plugin_register_atexit_cb(id, write_counts, NULL);
    return 0;
}
