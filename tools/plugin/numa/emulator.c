/* QEMU's own functions. tools/plugin/numa/emulator.h is the contract. */
#include "tools/plugin/numa/emulator.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* QEMU gives a block of memory an offset that is a multiple of this. */
#define BLOCK_ALIGN (UINT64_C(64) * 4096)
#define GUEST_HIGH (UINT64_C(1) << 32) /* where RAM goes on that is not below the devices */

/* The numbers that gdb has for registers of x86-64. */
enum { REGISTER_CR0 = 27, REGISTER_CR3 = 29, REGISTER_CR4 = 30, REGISTER_EFER = 32 };

#define CR0_PG (UINT64_C(1) << 31)
#define CR4_LA57 (UINT64_C(1) << 12)
#define EFER_LMA (UINT64_C(1) << 10)

struct bytes; /* GLib's growing array, which starts as this: */
struct bytes_head {
    uint8_t *data;
    unsigned int length;
};

struct block {
    uint64_t ram; /* offset of its first byte among the nodes' memory */
    uint64_t size;
    uint64_t said; /* what the plugin interface calls its first byte */
    const char *host;
};

static void *(*qemu_get_cpu)(int index);
static int (*qemu_read_register)(void *cpu, struct bytes *to, int number);
static void *(*qemu_map_ram)(void *block, uint64_t offset);
static void *(*qemu_block_of_host)(void *host, bool round, uint64_t *offset);
static const char *(*qemu_block_name)(void *block);
static uint64_t (*qemu_block_length)(void *block);
static struct bytes *(*bytes_new)(void);
static struct bytes *(*bytes_set_size)(struct bytes *bytes, unsigned int size);

static struct block blocks[NUMA_NODES_MAX];
static unsigned int block_count;
static uint64_t low;
static struct bytes *buffer;

const char *emulator_find(void)
{
    static const struct {
        const char *name;
        void *function;
    } all[] = {{"qemu_get_cpu", &qemu_get_cpu},          {"x86_cpu_gdb_read_register", &qemu_read_register},
               {"qemu_map_ram_ptr", &qemu_map_ram},      {"qemu_ram_block_from_host", &qemu_block_of_host},
               {"qemu_ram_get_idstr", &qemu_block_name}, {"qemu_ram_get_used_length", &qemu_block_length},
               {"g_byte_array_new", &bytes_new},         {"g_byte_array_set_size", &bytes_set_size}};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        void *found = dlsym(RTLD_DEFAULT, all[i].name);
        if (!found) {
            return all[i].name;
        }
        memcpy(all[i].function, &found, sizeof(found));
    }
    return NULL;
}

const char *emulator_find_memory(const struct numa_config *config)
{
    uint64_t ram = 0;
    uint64_t offset = 0;
    buffer = bytes_new();
    low = config->low;
    for (block_count = 0; block_count < config->nodes; block_count++) {
        struct block *block = &blocks[block_count];
        char name[16];
        uint64_t within;
        *block = (struct block){.ram = ram, .size = config->memory[block_count], .said = offset + ram};
        void *host = qemu_map_ram(NULL, offset);
        void *found = qemu_block_of_host(host, false, &within);
        snprintf(name, sizeof(name), "node%u", block_count);
        if (!found || within != 0 || strcmp(qemu_block_name(found), name) != 0 ||
            qemu_block_length(found) != block->size) {
            return "this emulator lays out the memory of nodes in another way";
        }
        block->host = host;
        ram += block->size;
        offset = (offset + block->size + BLOCK_ALIGN - 1) / BLOCK_ALIGN * BLOCK_ALIGN;
    }
    return NULL;
}

uint64_t emulator_ram_of_host(const void *host)
{
    for (unsigned int i = 0; i < block_count; i++) {
        uint64_t within = (uint64_t)((const char *)host - blocks[i].host);
        if (within < blocks[i].size) {
            return blocks[i].ram + within;
        }
    }
    return EMULATOR_NOWHERE;
}

uint64_t emulator_ram_of_plugin(uint64_t said)
{
    for (unsigned int i = 0; i < block_count; i++) {
        uint64_t within = said - blocks[i].said;
        if (within < blocks[i].size) {
            return blocks[i].ram + within;
        }
    }
    return EMULATOR_NOWHERE;
}

uint64_t emulator_ram_of_guest(uint64_t physical)
{
    uint64_t ram = physical < GUEST_HIGH ? physical : physical - GUEST_HIGH + low;
    bool hole = physical < GUEST_HIGH && physical >= low;
    return hole || !emulator_host_of_ram(ram) ? EMULATOR_NOWHERE : ram;
}

const void *emulator_host_of_ram(uint64_t ram)
{
    for (unsigned int i = 0; i < block_count; i++) {
        if (ram - blocks[i].ram < blocks[i].size) {
            return blocks[i].host + (ram - blocks[i].ram);
        }
    }
    return NULL;
}

static uint64_t read_register(void *cpu, int number)
{
    uint64_t value = 0;
    bytes_set_size(buffer, 0);
    int length = qemu_read_register(cpu, buffer, number);
    if (length > 0 && (size_t)length <= sizeof(value)) {
        memcpy(&value, ((struct bytes_head *)buffer)->data, (size_t)length);
    }
    return value;
}

bool emulator_root(unsigned int number, struct walk_root *root)
{
    void *cpu = qemu_get_cpu((int)number);
    if (!cpu || !(read_register(cpu, REGISTER_CR0) & CR0_PG) || !(read_register(cpu, REGISTER_EFER) & EFER_LMA)) {
        return false;
    }
    root->address = read_register(cpu, REGISTER_CR3);
    root->levels = read_register(cpu, REGISTER_CR4) & CR4_LA57 ? 5 : 4;
    return true;
}
