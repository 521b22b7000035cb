/* Lent memory: bytes that stay in their sender's memory, and of which a slot carries the physical address. The receiver
 * maps them into a window and copies them once. See msg/PROTOCOL.md, Loans. */
#ifndef MSG_LEND_H
#define MSG_LEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes the window. Once; panics without memory. */
void lend_init(void);

/* The physical address of SIZE bytes at MEMORY, if they are this kernel's own memory in one piece, which a peer can
 * map; 0: they are not, as for a stack. */
uint64_t lend_address(const void *memory, size_t size);

/* Maps SIZE bytes at physical ADDRESS of KERNEL into the window, writable only with WRITE. While a message is taken and
 * in its handler only, of which one runs at a time; at most one mapping until lend_close. NULL: it is not KERNEL's
 * memory, or has 0 or more than MSG_MAX bytes. */
void *lend_open(uint32_t kernel, uint64_t address, size_t size, bool write);
void lend_close(void);

#endif
