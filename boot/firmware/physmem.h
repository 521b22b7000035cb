/* How the parsers of firmware data reach physical memory.
 *
 * The kernel passes a window over the boot mapping, a host test passes a captured image, a
 * fuzzer passes its input: the parsers never form a pointer from a physical address themselves. */
#ifndef BOOT_FIRMWARE_PHYSMEM_H
#define BOOT_FIRMWARE_PHYSMEM_H

#include <stddef.h>
#include <stdint.h>

struct physmem {
    void *context; /* [i] handed back to map */
    /* Returns a pointer to LENGTH readable bytes at physical address BASE, or NULL when any byte of
     * that range cannot be read. The pointer stays valid as long as the physmem. */
    const void *(*map)(void *context, uint64_t base, size_t length);
};

#endif
