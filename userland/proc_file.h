/* The files under /proc/kettle, for reading by people. */
#ifndef USERLAND_PROC_FILE_H
#define USERLAND_PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Reads the file PATH whole into a string that the caller frees. Returns NULL with errno set. */
char *proc_file_read(const char *path);

/* True when NAME is a file that proc_file_print knows: plan, kernels, messages, syscalls. */
bool proc_file_exists(const char *name);

/* Prints /proc/kettle/NAME on standard output, columns aligned. A file that cannot be read is said on
 * standard error after PROGRAM's name. Returns whether it was printed. */
bool proc_file_print(const char *name, const char *program);

#endif
