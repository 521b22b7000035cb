/* The boot command line: words separated by blanks, "name=value". */
#ifndef BOOT_OPTIONS_H
#define BOOT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies the value of the last word NAME=... of CMDLINE to VALUE (SIZE bytes with the NUL). Returns false, and an empty
 * string, when there is none or it does not fit. */
bool option_find(const char *cmdline, const char *name, char *value, size_t size);
/* The value as a decimal number, or FALLBACK when it is missing or not a number of at most 2^63. */
uint64_t option_number(const char *cmdline, const char *name, uint64_t fallback);

#endif
