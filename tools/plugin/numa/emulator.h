/* What the model needs of QEMU and the plugin interface does not give: the control registers of a CPU, and the guest's
 * memory. They are had by functions of QEMU itself that Debian's QEMU 7.2 lets be found by name; where one is missing,
 * or memory does not lie as expected, the model is refused. */
#ifndef TOOLS_PLUGIN_NUMA_EMULATOR_H
#define TOOLS_PLUGIN_NUMA_EMULATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/plugin/numa/config.h"
#include "tools/plugin/numa/walk.h"

#define EMULATOR_NOWHERE UINT64_MAX

/* Finds the functions; returns the name of one that is missing, or NULL. */
const char *emulator_find(void);

/* Finds the memory of CONFIG's nodes, on the thread of a CPU. Returns NULL, or what is wrong in a few words. */
const char *emulator_find_memory(const struct numa_config *config);

/* RAM offset of a byte of the guest's memory, by its place in the host's; EMULATOR_NOWHERE for other memory. */
uint64_t emulator_ram_of_host(const void *host);

/* The same, by what qemu_plugin_hwaddr_phys_addr says of it: with a memory backend for each node, that is not the
 * physical address. */
uint64_t emulator_ram_of_plugin(uint64_t said);

/* The same, by the guest's physical address. */
uint64_t emulator_ram_of_guest(uint64_t physical);

/* Where a RAM offset lies in the host's memory. */
const void *emulator_host_of_ram(uint64_t ram);

/* The page tables of CPU; false while it does not use those of 64-bit mode. On the thread of the CPU. */
bool emulator_root(unsigned int cpu, struct walk_root *root);

#endif
