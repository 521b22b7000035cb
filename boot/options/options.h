/* The boot command line: words separated by blanks, "name=value". boot/options/options.def has
 * the names. What a part does not understand it says in an event, "@option PART: NAME= WHAT", which the host shows. */
#ifndef BOOT_OPTIONS_OPTIONS_H
#define BOOT_OPTIONS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies the value of the last word NAME=... of CMDLINE to VALUE (SIZE bytes with the NUL). Returns false, and an empty
 * string, when there is none or it does not fit. */
bool option_find(const char *cmdline, const char *name, char *value, size_t size);
/* The value as a decimal number, or FALLBACK when it is missing or not a number of at most 2^63. */
uint64_t option_number(const char *cmdline, const char *name, uint64_t fallback);
/* Whether NAME= is missing or has such a number. */
bool option_is_number(const char *cmdline, const char *name);
/* The next word of *CMDLINE, which moves on behind it, that is no NAME=... of boot/options/options.def: up to its "=",
 * to NAME, SIZE bytes with the NUL, cut if it is longer. Returns false when there is none. */
bool option_unknown(const char **cmdline, char *name, size_t size);
/* TEXT, all of it, is a decimal number of at most MOST: *VALUE. */
bool option_parse_number(const char *text, uint64_t most, uint64_t *value);

#endif
