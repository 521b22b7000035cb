/* PCI functions. See the header. */
#include "kernel/dev/pci.h"

#include "kernel/arch/x86_64/base/instructions.h"

#define PORT_ADDRESS 0xcf8
#define PORT_DATA 0xcfc
#define ADDRESS_ENABLE 0x80000000u

#define AT_ID 0x00 /* vendor, device */
#define AT_COMMAND 0x04
#define AT_HEADER 0x0e
#define AT_REGIONS 0x10
#define AT_SECONDARY 0x19 /* of a bridge: number of the bus behind it */
#define AT_CAPABILITIES 0x34
#define COMMAND_MEMORY 0x0002u
#define COMMAND_MASTER 0x0004u
#define COMMAND_NO_INTX 0x0400u
#define STATUS_CAPABILITIES 0x00100000u /* in the 32-bit word at AT_COMMAND */
#define HEADER_TYPE 0x7f
#define HEADER_BRIDGE 0x01
#define HEADER_SEVERAL 0x80 /* the device has several functions */
#define REGION_PORTS 0x1u
#define REGION_WIDE 0x4u /* 64-bit address: the next register has its upper half */
#define REGION_FLAGS 0xfu
#define NOBODY 0xffffu /* vendor id when there is no function */
#define REGIONS 6u
#define SLOTS 32u
#define FUNCTIONS 8u
#define CAPABILITIES_MAX 48u /* as many as fit into 256 bytes: bounds the walk of a circular list */

static void select(const struct pci_function *function, uint32_t offset)
{
    outl(PORT_ADDRESS, ADDRESS_ENABLE | (uint32_t)function->bus << 16 | (uint32_t)function->slot << 11 |
                           (uint32_t)function->function << 8 | (offset & 0xfc));
}

uint32_t pci_read(const struct pci_function *function, uint32_t offset, uint32_t size)
{
    uint32_t word;

    select(function, offset);
    word = inl(PORT_DATA) >> (offset & 3) * 8;
    return size == 4 ? word : word & ((1u << size * 8) - 1);
}

void pci_write(const struct pci_function *function, uint32_t offset, uint32_t value)
{
    select(function, offset);
    outl(PORT_DATA, value);
}

uint32_t pci_capability(const struct pci_function *function, uint8_t id, uint32_t after)
{
    uint32_t at;

    if ((pci_read(function, AT_COMMAND, 4) & STATUS_CAPABILITIES) == 0)
        return 0;
    at = pci_read(function, after == 0 ? AT_CAPABILITIES : after + 1, 1) & 0xfc;
    for (uint32_t turn = 0; at >= 0x40 && turn < CAPABILITIES_MAX; turn++) {
        if (pci_read(function, at, 1) == id)
            return at;
        at = pci_read(function, at + 1, 1) & 0xfc;
    }
    return 0;
}

/* Returns the writable bits of the base address register at AT: the bits below the region's size read as zeros. */
static uint32_t size_mask(const struct pci_function *function, uint32_t at)
{
    uint32_t old = pci_read(function, at, 4), mask;

    pci_write(function, at, UINT32_MAX);
    mask = pci_read(function, at, 4);
    pci_write(function, at, old);
    return mask;
}

uint64_t pci_region(const struct pci_function *function, uint32_t index, uint64_t *size)
{
    uint32_t at = AT_REGIONS + index * 4, low, command;
    uint64_t base, mask;
    bool wide;

    *size = 0;
    if (index >= REGIONS)
        return 0;
    low = pci_read(function, at, 4);
    wide = (low & REGION_WIDE) != 0;
    if ((low & REGION_PORTS) != 0 || (wide && index + 1 >= REGIONS))
        return 0;
    base = (low & ~REGION_FLAGS) | (wide ? (uint64_t)pci_read(function, at + 4, 4) << 32 : 0);
    if (base == 0)
        return 0;
    command = pci_read(function, AT_COMMAND, 4) & 0xffff; /* zeros written to the status register have no effect */
    pci_write(function, AT_COMMAND, command & ~COMMAND_MEMORY);
    mask = size_mask(function, at) & ~REGION_FLAGS;
    mask |= wide ? (uint64_t)size_mask(function, at + 4) << 32 : 0xffffffff00000000ull;
    pci_write(function, AT_COMMAND, command);
    *size = ~mask + 1;
    return base;
}

void pci_enable(const struct pci_function *function)
{
    uint32_t command = pci_read(function, AT_COMMAND, 4) & 0xffff;

    pci_write(function, AT_COMMAND, command | COMMAND_MEMORY | COMMAND_MASTER | COMMAND_NO_INTX);
}

/* --- enumeration --- */

struct search {
    bool (*each)(const struct pci_function *function, void *context);
    void *context;
    uint32_t seen[8]; /* buses visited, one bit each: a bridge may name any bus, also one visited before */
};

static bool search_bus(struct search *search, uint8_t bus);

static bool look_at(struct search *search, struct pci_function *function)
{
    uint32_t id = pci_read(function, AT_ID, 4);

    function->vendor = (uint16_t)id;
    function->device = (uint16_t)(id >> 16);
    if (function->vendor == NOBODY)
        return false;
    if (search->each(function, search->context))
        return true;
    return (pci_read(function, AT_HEADER, 1) & HEADER_TYPE) == HEADER_BRIDGE &&
           search_bus(search, (uint8_t)pci_read(function, AT_SECONDARY, 1));
}

static bool search_slot(struct search *search, uint8_t bus, uint8_t slot)
{
    struct pci_function function = {.bus = bus, .slot = slot};
    uint32_t functions = (pci_read(&function, AT_HEADER, 1) & HEADER_SEVERAL) != 0 ? FUNCTIONS : 1;

    if (pci_read(&function, AT_ID, 2) == NOBODY)
        return false;
    for (uint32_t i = 0; i < functions; i++) {
        function.function = (uint8_t)i;
        if (look_at(search, &function))
            return true;
    }
    return false;
}

static bool search_bus(struct search *search, uint8_t bus)
{
    if ((search->seen[bus / 32] & 1u << bus % 32) != 0)
        return false;
    search->seen[bus / 32] |= 1u << bus % 32;
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        if (search_slot(search, bus, (uint8_t)slot))
            return true;
    }
    return false;
}

bool pci_each(bool (*each)(const struct pci_function *function, void *context), void *context)
{
    struct search search = {.each = each, .context = context};

    return search_bus(&search, 0);
}
