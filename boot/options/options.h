/* The boot command line: words separated by blanks, "name=value". boot/options/options.def lists the names and their
 * values. If a name occurs several times, its last word counts; an option that is missing, or has an invalid value, has
 * its default. The names that these functions are given must be listed. */
#ifndef BOOT_OPTIONS_OPTIONS_H
#define BOOT_OPTIONS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A row of options.def. */
struct option_row {
    const char *name, *fallback, *values;
};

/* Returns the row of option NAME, or NULL. */
const struct option_row *option_row(const char *name);
/* Returns whether option NAME is listed and may have VALUE. */
bool option_valid(const char *name, const char *value);
/* Returns the place of VALUE among the words of NAME's row, or their number if it is none of them. */
uint32_t option_index(const char *name, const char *value);

/* Copies the value of the last word NAME=... of CMDLINE, valid or not, to VALUE (SIZE bytes with the NUL). Returns
 * false, and an empty string, when there is no such word or its value does not fit. */
bool option_find(const char *cmdline, const char *name, char *value, size_t size);
/* Returns whether option NAME has the value WORD. */
bool option_is(const char *cmdline, const char *name, const char *word);
/* Returns the number that option NAME has, or UINT64_MAX when its value is a word. */
uint64_t option_number(const char *cmdline, const char *name);

/* A word of the command line that has no effect. */
struct option_wrong {
    const struct option_row *row; /* NULL: the name is unknown */
    const char *text;             /* the value or, if the name is unknown, the name; LENGTH bytes */
    size_t length;
};

/* Finds the next word of *CMDLINE that has no effect because its name is unknown or its value is invalid, and advances
 * *CMDLINE behind the word. Returns false when there is none. */
bool option_wrong(const char **cmdline, struct option_wrong *wrong);
/* Parses all of TEXT as a decimal number of at most MOST into *VALUE. Returns false when it is not such a number. */
bool option_parse_number(const char *text, uint64_t most, uint64_t *value);

#endif
