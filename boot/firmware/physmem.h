/* The interface through which parsers of firmware data read physical memory.
 *
 * The kernel implements it with the boot mapping, a host test with a captured image, a fuzzer with its input. The
 * parsers never form a pointer from a physical address themselves. */
#ifndef BOOT_FIRMWARE_PHYSMEM_H
#define BOOT_FIRMWARE_PHYSMEM_H

#include <stddef.h>
#include <stdint.h>

struct physmem {
    void *context; /* [i] passed to map */
    /* Returns a pointer to LENGTH readable bytes at physical address BASE, or NULL when any byte of
     * that range cannot be read. The pointer stays valid as long as the physmem. */
    const void *(*map)(void *context, uint64_t base, size_t length);
};

#endif
