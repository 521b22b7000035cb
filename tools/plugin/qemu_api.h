/* What the plugins use of the TCG plugin interface of QEMU 7.2, API version 1, declared here because Debian's packages
 * bring no header for it. Names, argument orders and layouts are QEMU's; QEMU's own code defines the functions, and
 * finds qemu_plugin_version and qemu_plugin_install in each plugin. */
#ifndef TOOLS_PLUGIN_QEMU_API_H
#define TOOLS_PLUGIN_QEMU_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define QEMU_API_VERSION 1
#define QEMU_EXPORT __attribute__((visibility("default")))

struct qemu_plugin_tb;   /* a translation block, valid during the translation callback */
struct qemu_plugin_insn; /* one instruction of it, likewise */

typedef uint64_t qemu_plugin_id_t;

/* What an emulator tells a plugin about itself. */
typedef struct {
    const char *target_name; /* "x86_64" */
    struct {
        int min; /* oldest API version it serves */
        int cur; /* its own */
    } version;
    bool system_emulation;
    union { /* only with system_emulation */
        struct {
            int smp_vcpus;
            int max_vcpus;
        } system;
    };
} qemu_info_t;

struct qemu_plugin_hwaddr; /* where an access went, valid during its callback */

/* An access: its size, its kind and more, for the functions below. */
typedef uint32_t qemu_plugin_meminfo_t;

enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_R = 1, QEMU_PLUGIN_MEM_W, QEMU_PLUGIN_MEM_RW };

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS }; /* the callback does not look at registers */

typedef void (*qemu_plugin_tb_trans_cb_t)(qemu_plugin_id_t id, struct qemu_plugin_tb *block);
typedef void (*qemu_plugin_insn_exec_cb_t)(unsigned int vcpu, void *data);
typedef void (*qemu_plugin_vcpu_mem_cb_t)(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data);
typedef void (*qemu_plugin_exit_cb_t)(qemu_plugin_id_t id, void *data);

/* Defined by the plugin. INSTALL returns 0, or another number to be refused with. */
QEMU_EXPORT extern int qemu_plugin_version;
QEMU_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv);

/* Defined by QEMU. A block is translated before it runs first, and again whenever QEMU has dropped it. The callback of
 * an instruction is called on the thread of the CPU, before each execution. */
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_plugin_tb_trans_cb_t callback);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, qemu_plugin_insn_exec_cb_t callback,
                                            enum qemu_plugin_cb_flags flags, void *data);
/* The callback of an access comes after it. */
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, qemu_plugin_vcpu_mem_cb_t callback,
                                      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw, void *data);
unsigned int qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t address);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *where);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *where);
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, qemu_plugin_exit_cb_t callback, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
/* The callback of a block is called on the thread of the CPU, before each execution. */
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block, qemu_plugin_insn_exec_cb_t callback,
                                          enum qemu_plugin_cb_flags flags, void *data);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *block);

/* Not of the plugin interface, but exported by QEMU 7.2; NULL where an emulator does not. With one thread for all CPUs
 * a kick ends the turn of the CPU that executes, at the next block, and the turn goes to the next CPU. */
__attribute__((weak)) void qemu_cpu_kick(void *cpu);
__attribute__((weak)) void *qemu_get_cpu(int index);

/* Whether the emulator serves this interface, for x86_64 machines; else standard error says why not, in PLUGIN's name.
 */
static inline bool qemu_serves(const qemu_info_t *info, const char *plugin)
{
    /* The layout of INFO behind the versions is only known for the version this was made for. */
    if (info->version.min > QEMU_API_VERSION || info->version.cur < QEMU_API_VERSION) {
        fprintf(stderr, "%s: this emulator does not serve plugin API version %d\n", plugin, QEMU_API_VERSION);
        return false;
    }
    if (strcmp(info->target_name, "x86_64") != 0 || !info->system_emulation) {
        fprintf(stderr, "%s: works in x86_64 system emulation only, not for %s\n", plugin, info->target_name);
        return false;
    }
    return true;
}

#endif
