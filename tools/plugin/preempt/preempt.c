/* A QEMU plugin that ends the turns of CPUs in the midst of kernel code, after random numbers of translation blocks:
 * see preempt.md. It is for machines whose CPUs take turns on one thread of the host, which is the only one that gets
 * here.
 *
 * All that it decides follows from its seed and from the blocks that the guest has executed, never from a clock: where
 * the machine repeats, as with -icount and -seed, its turns do. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/plugin/qemu_api.h"

#define RATE_DEFAULT 100
#define RATE_MAX 1000000

int qemu_plugin_version = QEMU_API_VERSION;

static const char *out_path;
static FILE *out;
static uint64_t seed;
static uint64_t rate = RATE_DEFAULT;

static uint64_t random_state;
static uint64_t left;      /* blocks until the turn ends, from 1 */
static uint64_t blocks;    /* of the kernel, executed */
static uint64_t ended;     /* turns */
static uint64_t passed_on; /* turns after which another CPU was the next to execute code of the kernel */
static bool just_ended;    /* a turn, of CPU ended_cpu: nothing of the kernel has been executed since */
static unsigned int ended_cpu;

/* The next number of splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014), which
 * takes any seed. */
static uint64_t draw(void)
{
    random_state += 0x9e3779b97f4a7c15;
    uint64_t mixed = random_state;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    return mixed ^ mixed >> 31;
}

/* How many blocks the next turn may have: mostly around `rate`, of eight two very few, so that several turns end within
 * one critical section, and one very many, so that one CPU gets far while another stands still. */
static uint64_t draw_turn(void)
{
    uint64_t kind = draw() % 8;
    uint64_t most = kind == 0 ? 8 * rate : kind < 3 ? rate / 8 + 1 : 2 * rate;
    return 1 + draw() % most;
}

/* Before each block of the kernel. The CPU still executes this one: QEMU looks at the beginning of a block for who asks
 * it to stop. */
static void execute_block(unsigned int cpu, void *unused)
{
    (void)unused;
    if (just_ended) {
        passed_on += cpu != ended_cpu;
        just_ended = false;
    }
    blocks++;
    if (--left > 0) {
        return;
    }
    left = draw_turn();
    ended++;
    just_ended = true;
    ended_cpu = cpu;
    qemu_cpu_kick(qemu_get_cpu((int)cpu));
}

/* The upper half of the address space is the kernel's, in Kettle and in Linux. */
static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    (void)id;
    if (qemu_plugin_tb_vaddr(block) >> 63 != 0) {
        qemu_plugin_register_vcpu_tb_exec_cb(block, execute_block, QEMU_PLUGIN_CB_NO_REGS, NULL);
    }
}

static void write_report(qemu_plugin_id_t id, void *unused)
{
    (void)id;
    (void)unused;
    fprintf(out, "{\"blocks\": %" PRIu64 ", \"ended\": %" PRIu64 ", \"passed_on\": %" PRIu64 "}\n", blocks, ended,
            passed_on);
    bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        fprintf(stderr, "preempt.so: cannot write %s: %s\n", out_path, strerror(errno));
    }
}

/* The number of at most MOST that TEXT is, in NUMBER; false when it is none. */
static bool read_number(const char *text, uint64_t least, uint64_t most, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 && *number >= least && *number <= most;
}

static bool take_argument(const char *argument)
{
    if (strncmp(argument, "out=", 4) == 0 && argument[4] != '\0') {
        out_path = argument + 4;
        return true;
    }
    if (strncmp(argument, "seed=", 5) == 0) {
        return read_number(argument + 5, 0, UINT64_MAX, &seed);
    }
    return strncmp(argument, "rate=", 5) == 0 && read_number(argument + 5, 1, RATE_MAX, &rate);
}

static int refuse(const char *format, const char *what)
{
    fputs("preempt.so: ", stderr);
    fprintf(stderr, format, what);
    fputc('\n', stderr);
    return -1;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    if (!qemu_serves(info, "preempt.so")) {
        return -1;
    }
    if (!qemu_cpu_kick || !qemu_get_cpu) {
        return refuse("this emulator does not export %s", "qemu_cpu_kick and qemu_get_cpu");
    }
    for (int i = 0; i < argc; i++) {
        if (!take_argument(argv[i])) {
            return refuse("bad argument '%s' (out=FILE, seed=N, rate=1 to 1000000)", argv[i]);
        }
    }
    if (!out_path) {
        return refuse("the argument %s is missing", "out=FILE");
    }
    out_path = strdup(out_path); /* QEMU frees its arguments when this returns */
    if (!out_path) {
        return refuse("no memory%s", "");
    }
    out = fopen(out_path, "we");
    if (!out) {
        return refuse("cannot write %s", out_path);
    }
    random_state = seed;
    left = draw_turn();
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    qemu_plugin_register_atexit_cb(id, write_report, NULL);
    return 0;
}
