/* The NUMA model in the plugin. tools/plugin/numa/numa.h is the contract.
 *
 * A data access finds its page in the modelled TLB of its CPU, and only a miss asks QEMU where it went. That is right
 * as long as the TLB forgets what the guest drops: see instrument_control. Each miss walks the guest's page tables in
 * its memory, and compares the page at the end with what QEMU says. */
#include "tools/plugin/numa/numa.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/plugin/numa/emulator.h"
#include "tools/plugin/numa/machine.h"
#include "tools/plugin/numa/tlb.h"

#define PAGE_SHIFT 12
#define PAGE_MASK ((UINT64_C(1) << PAGE_SHIFT) - 1)
#define LINE_MASK ((UINT64_C(1) << NUMA_LINE_BITS) - 1)
#define SITE_BUCKET_BITS 16

/* An instruction that begins in another line than its predecessor, or ends in another than it begins. Lives as long as
 * the emulator. */
struct fetch_site {
    uint64_t address;
    uint64_t ram; /* of its first byte, or EMULATOR_NOWHERE */
    uint64_t end; /* of its last byte if that is in another line of the page, or EMULATOR_NOWHERE */
    enum column column;
    struct fetch_site *next;
};

/* What a CPU of the model has besides struct numa_cpu. */
struct paging {
    struct tlb tlb;
    struct walk_root root;
    bool root_known;
    bool paged;         /* it uses page tables of 64-bit mode */
    uint64_t last_line; /* RAM line of the last fetch */
};

static struct numa_config config;
static struct numa_machine machine;
static struct paging *pagings;
static bool awake; /* a region has begun */
static bool tracing;
static struct fetch_site *sites[1 << SITE_BUCKET_BITS];

const char *numa_setup(const char *path, unsigned int cpus)
{
    if (emulator_find() != NULL) {
        return "this emulator's own functions cannot be found by name, which the model needs";
    }
    FILE *file = fopen(path, "re");
    if (!file) {
        return "its model cannot be read";
    }
    const char *problem = numa_config_read(file, &config);
    fclose(file);
    return problem || config.cpus == cpus ? problem : "its model has another number of CPUs";
}

unsigned int numa_counter_count(void)
{
    return NUMA_COUNTER_COUNT + config.nodes;
}

bool numa_start(void)
{
    pagings = calloc(config.cpus, sizeof(*pagings));
    if (!pagings || !numa_machine_make(&machine, &config)) {
        return false;
    }
    for (uint32_t cpu = 0; cpu < config.cpus; cpu++) {
        machine.cpus[cpu].counters = &region_totals[(size_t)cpu * region_stride];
        pagings[cpu].last_line = EMULATOR_NOWHERE;
        if (config.tlb.sets != 0 && !tlb_make(&pagings[cpu].tlb, config.tlb)) {
            return false;
        }
    }
    return true;
}

void numa_region_begin(void)
{
    awake = true;
    numa_clocks_meet(&machine);
}

/* --- walks --- */

static uint64_t read_entry(void *unused, uint64_t physical)
{
    (void)unused;
    uint64_t ram = emulator_ram_of_guest(physical);
    const uint64_t *host = ram == EMULATOR_NOWHERE ? NULL : emulator_host_of_ram(ram);
    return host ? *host : 0;
}

/* The walk for ADDRESS, which is on the page at RAM. Its entries go through the caches. */
static void walk_page(unsigned int cpu, uint64_t address, uint64_t ram)
{
    struct paging *paging = &pagings[cpu];
    uint64_t *counters = machine.cpus[cpu].counters;
    uint64_t before = machine.cpus[cpu].stalls;
    struct walk walk = walk_tables(&paging->root, address, read_entry, NULL);
    uint64_t leaf = EMULATOR_NOWHERE;
    for (unsigned int i = 0; i < walk.count; i++) {
        leaf = emulator_ram_of_guest(walk.entries[i]);
        if (leaf != EMULATOR_NOWHERE) {
            numa_access(&machine, cpu, NUMA_WALK, leaf, 0);
        }
    }
    counters[NUMA_WALKS]++;
    counters[NUMA_WALK_STALLS] += machine.cpus[cpu].stalls - before;

    uint64_t within = address & ((UINT64_C(1) << walk.shift) - 1) & ~PAGE_MASK;
    bool right = walk.mapped && emulator_ram_of_guest(walk.page + within) == ram;
    counters[NUMA_WALK_OTHERS] += !right;
    /* A page that the tables do not lead to was reached before they changed: it is not found again. */
    if (right) {
        struct tlb_entry *entry = tlb_put(&paging->tlb, address, walk.shift, walk.global);
        entry->ram = ram - within;
        entry->leaf = emulator_host_of_ram(leaf);
        entry->content = walk.leaf;
    }
}

static bool is_paged(unsigned int cpu)
{
    struct paging *paging = &pagings[cpu];
    if (!paging->root_known) {
        paging->root_known = true;
        paging->paged = config.tlb.sets != 0 && emulator_root(cpu, &paging->root);
    }
    return paging->paged;
}

/* --- accesses --- */

/* RAM offset of an access, by QEMU. */
static uint64_t emulator_ram(qemu_plugin_meminfo_t info, uint64_t address)
{
    const struct qemu_plugin_hwaddr *where = qemu_plugin_get_hwaddr(info, address);
    if (!where || qemu_plugin_hwaddr_is_io(where)) {
        return EMULATOR_NOWHERE;
    }
    return emulator_ram_of_plugin(qemu_plugin_hwaddr_phys_addr(where));
}

/* The same, by the TLB or by QEMU. */
static uint64_t data_ram(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t address)
{
    bool paged = is_paged(cpu);
    if (paged) {
        const struct tlb_entry *entry = tlb_find(&pagings[cpu].tlb, address);
        if (entry) {
            uint64_t ram = entry->ram + (address & ~entry->mask);
            if (config.check != 0 && emulator_ram(info, address) != ram) {
                machine.cpus[cpu].counters[NUMA_STALE]++;
            }
            return ram;
        }
    }
    uint64_t ram = emulator_ram(info, address);
    if (paged && ram != EMULATOR_NOWHERE) {
        walk_page(cpu, address, ram & ~PAGE_MASK);
    }
    return ram;
}

static void trace_access(unsigned int number, const struct trace_record *access, uint64_t ram,
                         const struct numa_outcome *outcome)
{
    const struct numa_cpu *cpu = &machine.cpus[number];
    struct trace_record record = *access;
    record.clock = numa_clock(cpu);
    record.physical = ram < config.low ? ram : ram - config.low + (UINT64_C(1) << 32);
    record.cpu = (uint16_t)number;
    record.cpu_node = (uint8_t)cpu->node;
    record.memory_node = (uint8_t)numa_node_of(&machine, ram);
    record.source = (uint8_t)outcome->source;
    record.column = (uint8_t)cpu->column;
    trace_add(&record);
}

static void access_data(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t address, void *pc)
{
    if (!awake) {
        return;
    }
    uint64_t ram = data_ram(cpu, info, address);
    if (ram == EMULATOR_NOWHERE) {
        machine.cpus[cpu].counters[NUMA_UNKNOWN]++;
        return;
    }
    bool write = qemu_plugin_mem_is_store(info);
    unsigned int shift = qemu_plugin_mem_size_shift(info);
    struct numa_outcome outcome = numa_access(&machine, cpu, write ? NUMA_WRITE : NUMA_READ, ram,
                                              (uint64_t)(uintptr_t)pc);
    if (tracing && region_any_open()) {
        trace_access(
            cpu,
            &(struct trace_record){
                .address = address, .pc = (uint64_t)(uintptr_t)pc, .write = write, .size_shift = (uint8_t)shift},
            ram, &outcome);
    }
    /* The rest of an access that crosses lines, as long as it stays in its page. */
    uint64_t last = ram + (UINT64_C(1) << shift) - 1;
    if ((ram & ~LINE_MASK) != (last & ~LINE_MASK) && (ram & ~PAGE_MASK) == (last & ~PAGE_MASK)) {
        numa_access(&machine, cpu, write ? NUMA_WRITE : NUMA_READ, last, (uint64_t)(uintptr_t)pc);
    }
}

static void fetch_line(unsigned int cpu, uint64_t ram)
{
    struct paging *paging = &pagings[cpu];
    if (ram >> NUMA_LINE_BITS != paging->last_line) {
        paging->last_line = ram >> NUMA_LINE_BITS;
        numa_access(&machine, cpu, NUMA_FETCH, ram, 0);
    }
}

static void fetch(unsigned int cpu, void *data)
{
    const struct fetch_site *site = data;
    if (!awake) {
        return;
    }
    machine.cpus[cpu].column = site->column;
    if (site->ram == EMULATOR_NOWHERE) {
        machine.cpus[cpu].counters[NUMA_UNKNOWN]++;
        return;
    }
    if (is_paged(cpu) && !tlb_find(&pagings[cpu].tlb, site->address)) {
        walk_page(cpu, site->address, site->ram & ~PAGE_MASK);
    }
    fetch_line(cpu, site->ram);
    if (site->end != EMULATOR_NOWHERE) {
        fetch_line(cpu, site->end);
    }
}

/* --- what the guest does to its TLB --- */

enum control { CONTROL_NONE, CONTROL_ROOT, CONTROL_ALL, CONTROL_ONE };

static void control(unsigned int cpu, void *data)
{
    struct paging *paging = &pagings[cpu];
    enum control what = (enum control)(uintptr_t)data;
    paging->root_known = false;
    if (what == CONTROL_ONE) {
        tlb_suspect(&paging->tlb);
    } else {
        tlb_flush(&paging->tlb, what == CONTROL_ALL);
    }
}

/* What INSN does, by its bytes: writes of CR0, CR3, CR4 and EFER, INVLPG and INVPCID. */
static enum control control_of(const struct qemu_plugin_insn *insn)
{
    const uint8_t *bytes = qemu_plugin_insn_data(insn);
    size_t size = qemu_plugin_insn_size(insn);
    size_t at = 0;
    bool extended = false; /* REX.R: CR8 and above */
    while (at < size && (bytes[at] == 0x66 || bytes[at] == 0xf2 || bytes[at] == 0xf3 || bytes[at] == 0x2e ||
                         bytes[at] == 0x3e || bytes[at] == 0x64 || bytes[at] == 0x65 || bytes[at] >> 4 == 4)) {
        extended = bytes[at] >> 4 == 4 && bytes[at] & 4;
        at++;
    }
    if (at + 2 > size || bytes[at] != 0x0f) {
        return CONTROL_NONE;
    }
    const uint8_t *code = &bytes[at + 1];
    size_t left = size - at - 1;
    if (code[0] == 0x30) {
        return CONTROL_ALL; /* WRMSR */
    }
    if (code[0] == 0x38 && left >= 3 && code[1] == 0x82) {
        return CONTROL_ALL; /* INVPCID */
    }
    if (left < 2) {
        return CONTROL_NONE;
    }
    unsigned int field = code[1] >> 3 & 7;
    if (code[0] == 0x22 && !extended) {
        return field == 3 ? CONTROL_ROOT : CONTROL_ALL;
    }
    return code[0] == 0x01 && field == 7 && code[1] >> 6 != 3 ? CONTROL_ONE : CONTROL_NONE;
}

/* --- instrumenting --- */

/* The site of INSN, made when there is none: instructions are translated again and again. */
static struct fetch_site *site_of(const struct qemu_plugin_insn *insn, enum column column)
{
    const char *host = qemu_plugin_insn_haddr(insn);
    struct fetch_site made = {.address = qemu_plugin_insn_vaddr(insn),
                              .ram = host ? emulator_ram_of_host(host) : EMULATOR_NOWHERE,
                              .end = EMULATOR_NOWHERE,
                              .column = column};
    uint64_t last = made.ram + qemu_plugin_insn_size(insn) - 1;
    if (made.ram != EMULATOR_NOWHERE && (made.ram & ~LINE_MASK) != (last & ~LINE_MASK) &&
        (made.ram & ~PAGE_MASK) == (last & ~PAGE_MASK)) {
        made.end = last;
    }
    struct fetch_site **bucket =
        &sites[((made.address ^ made.ram << 16) * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - SITE_BUCKET_BITS)];
    for (struct fetch_site *site = *bucket; site; site = site->next) {
        if (site->address == made.address && site->ram == made.ram && site->end == made.end) {
            return site;
        }
    }
    struct fetch_site *site = malloc(sizeof(*site));
    if (!site) {
        fputs("count.so: no memory for the places of instructions\n", stderr);
        abort();
    }
    *site = made;
    site->next = *bucket;
    *bucket = site;
    return site;
}

void numa_instrument(struct qemu_plugin_insn *insn, const struct qemu_plugin_insn *previous, enum column column)
{
    static bool memory_found;
    if (!memory_found) {
        memory_found = true;
        const char *problem = emulator_find_memory(&config);
        if (problem) {
            fprintf(stderr, "count.so: %s\n", problem);
            exit(1);
        }
    }
    uint64_t address = qemu_plugin_insn_vaddr(insn);
    uint64_t line = address & ~LINE_MASK;
    if (!previous || ((address + qemu_plugin_insn_size(insn) - 1) & ~LINE_MASK) != line ||
        ((qemu_plugin_insn_vaddr(previous) + qemu_plugin_insn_size(previous) - 1) & ~LINE_MASK) != line) {
        qemu_plugin_register_vcpu_insn_exec_cb(insn, fetch, QEMU_PLUGIN_CB_NO_REGS, site_of(insn, column));
    }
    enum control what = control_of(insn);
    if (what != CONTROL_NONE) {
        qemu_plugin_register_vcpu_insn_exec_cb(insn, control, QEMU_PLUGIN_CB_NO_REGS, (void *)(uintptr_t)what);
    }
    qemu_plugin_register_vcpu_mem_cb(insn, access_data, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
                                     (void *)(uintptr_t)address);
}

/* --- the figures --- */

bool numa_trace(const char *path, enum trace_choice choice, uint32_t every)
{
    tracing = true;
    return trace_begin(path, choice, every);
}

static void write_cpu(FILE *file, unsigned int cpu, const uint64_t *sums)
{
    static const char *const words[] = {
#define X(name, word) #word,
        NUMA_COUNTERS(X)
#undef X
    };
    uint64_t instructions = sums[COLUMN_USER] + sums[COLUMN_KERNEL] + sums[COLUMN_IDLE];
    fprintf(file, "{\"cpu\": %u, \"node\": %u, \"instructions\": %" PRIu64, cpu, config.node_of[cpu], instructions);
    for (unsigned int i = COLUMN_COUNT; i < NUMA_STALLS_USER; i++) {
        fprintf(file, ", \"%s\": %" PRIu64, words[i - COLUMN_COUNT], sums[i]);
    }
    fputs(", \"lines_from_node\": [", file);
    for (uint32_t node = 0; node < config.nodes; node++) {
        fprintf(file, "%s%" PRIu64, node == 0 ? "" : ", ", sums[NUMA_COUNTER_COUNT + node]);
    }
    fprintf(file, "], \"modelled_cycles\": {\"user\": %" PRIu64 ", \"kernel\": %" PRIu64 ", \"idle\": %" PRIu64 "}}",
            sums[COLUMN_USER] + sums[NUMA_STALLS_USER], sums[COLUMN_KERNEL] + sums[NUMA_STALLS_KERNEL],
            sums[COLUMN_IDLE] + sums[NUMA_STALLS_IDLE]);
}

struct writing {
    FILE *file;
    const char *separator;
};

static void write_region(void *context, unsigned int number, const uint64_t *sums)
{
    struct writing *writing = context;
    fprintf(writing->file, "%s\n{\"region\": %u, \"cpus\": [", writing->separator, number);
    for (uint32_t cpu = 0; cpu < config.cpus; cpu++) {
        fputs(cpu == 0 ? "" : ",\n ", writing->file);
        write_cpu(writing->file, cpu, sums + (size_t)cpu * region_stride);
    }
    fputs("]}", writing->file);
    writing->separator = ",";
}

void numa_write(FILE *file)
{
    struct writing writing = {file, ""};
    uint64_t records = 0;
    if (tracing && !trace_end(&records)) {
        fputs("count.so: the trace could not be written\n", stderr);
    }
    fprintf(file, "{\"trace_records\": %" PRIu64 ", \"regions\": [", records);
    region_visit(write_region, &writing);
    fputs("]}", file);
}
