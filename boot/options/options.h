/* The boot command line: words separated by blanks, "name=value". boot/options/options.def lists
 * the names. A part that finds an invalid value logs an event, "@option PART: NAME= WHAT", which the host shows. */
#ifndef BOOT_OPTIONS_OPTIONS_H
#define BOOT_OPTIONS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies the value of the last word NAME=... of CMDLINE to VALUE (SIZE bytes with the NUL). Returns false, and an empty
 * string, when there is no such word or its value does not fit. */
bool option_find(const char *cmdline, const char *name, char *value, size_t size);
/* Returns the value of NAME= as a decimal number, or FALLBACK when it is missing or not a number of at most 2^63. */
uint64_t option_number(const char *cmdline, const char *name, uint64_t fallback);
/* Returns whether NAME= is missing or has such a number. */
bool option_is_number(const char *cmdline, const char *name);
/* Finds the next word of *CMDLINE that is not a NAME=... of boot/options/options.def, copies its part before the "=" to
 * NAME (SIZE bytes with the NUL, truncated), and advances *CMDLINE behind the word. Returns false when there is none.
 */
bool option_unknown(const char **cmdline, char *name, size_t size);
/* Parses all of TEXT as a decimal number of at most MOST into *VALUE. Returns false when it is not such a number. */
bool option_parse_number(const char *text, uint64_t most, uint64_t *value);

#endif
