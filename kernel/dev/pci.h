/* PCI functions: enumeration, and access to configuration space through the ports 0xcf8 and 0xcfc (PCI Local Bus
 * Specification 3.0, 3.2.2.3.2). The ports reach the first 256 bytes of each function's configuration space. Kernel 0
 * only, one task at a time. On a machine without PCI all reads return ones, so no function is found. */
#ifndef KERNEL_DEV_PCI_H
#define KERNEL_DEV_PCI_H

#include <stdbool.h>
#include <stdint.h>

struct pci_function {
    uint8_t bus, slot, function;
    uint16_t vendor, device; /* the ids in its configuration space */
};

/* Calls EACH for every function behind the first host bridge, depth first from bus 0, until EACH returns true. Returns
 * whether it did. */
bool pci_each(bool (*each)(const struct pci_function *function, void *context), void *context);

/* Reads SIZE (1, 2 or 4) bytes at OFFSET, which is a multiple of SIZE. */
uint32_t pci_read(const struct pci_function *function, uint32_t offset, uint32_t size);
/* Writes four bytes at OFFSET, a multiple of 4. */
void pci_write(const struct pci_function *function, uint32_t offset, uint32_t value);

/* Returns the offset of the next capability ID after the one at AFTER (0: the first one), or 0 if there is none. */
uint32_t pci_capability(const struct pci_function *function, uint8_t id, uint32_t after);
/* Returns the physical address of memory region INDEX (base address register 0 to 5), as assigned by the firmware, and
 * its SIZE in bytes; 0 if the region does not exist or consists of ports. The function does not decode memory accesses
 * during the call, and no other CPU may run: QEMU 7.2 gives the other CPUs of an emulated machine the changed
 * memory map at once but empties their TLBs later (tcg_commit in softmmu/physmem.c), so what a CPU writes to its local
 * APIC meanwhile may go to another device. */
uint64_t pci_region(const struct pci_function *function, uint32_t index, uint64_t *size);
/* Enables decoding of its memory regions and bus mastering (DMA), and disables INTx interrupts. */
void pci_enable(const struct pci_function *function);

#endif
