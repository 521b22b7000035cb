/* PCI functions: finding them, and their configuration space by way of the ports 0xcf8 and 0xcfc (PCI Local Bus
 * Specification 3.0, 3.2.2.3.2), of which every PC has the first 256 bytes of each function. Kernel 0 only, one task at
 * a time. A machine without PCI reads as ones everywhere, so nothing is found there. */
#ifndef KERNEL_DEV_PCI_H
#define KERNEL_DEV_PCI_H

#include <stdbool.h>
#include <stdint.h>

struct pci_function {
    uint8_t bus, slot, function;
    uint16_t vendor, device; /* what it says it is */
};

/* Calls EACH for every function behind the first host bridge, in the order of buses, until it returns true. */
bool pci_each(bool (*each)(const struct pci_function *function, void *context), void *context);

/* SIZE (1, 2 or 4) bytes at OFFSET, which is a multiple of SIZE. */
uint32_t pci_read(const struct pci_function *function, uint32_t offset, uint32_t size);
/* Four bytes at OFFSET, a multiple of 4. */
void pci_write(const struct pci_function *function, uint32_t offset, uint32_t value);

/* The offset of the next capability ID behind the one at AFTER (0: the first); 0: there is none. */
uint32_t pci_capability(const struct pci_function *function, uint8_t id, uint32_t after);
/* The physical address of memory region INDEX (0 to 5) and its SIZE in bytes, as firmware has placed it; 0: there is
 * none, or it is of ports. Its decoding is off for a moment. */
uint64_t pci_region(const struct pci_function *function, uint32_t index, uint64_t *size);
/* It may answer at its memory regions, and write to memory; without INTx interrupts. */
void pci_enable(const struct pci_function *function);

#endif
