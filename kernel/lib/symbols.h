/* Names of the kernel's functions, for backtraces. tools/make-symbols generates the table from the linked kernel. */
#ifndef KERNEL_LIB_SYMBOLS_H
#define KERNEL_LIB_SYMBOLS_H

#include <stdint.h>

struct symbol {
    uint32_t offset; /* of the function, from the start of the image */
    uint32_t name;   /* offset into symbol_names */
};

extern const struct symbol symbol_table[]; /* ascending by offset */
extern const uint32_t symbol_count;
extern const char symbol_names[];

/* Returns the function that contains ADDRESS and the distance from its start, or NULL. */
const char *symbol_find(uint64_t address, uint64_t *distance);

#endif
