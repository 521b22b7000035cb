/* Devices by their numbers (major << 8 | minor, as Linux): those without hardware are files of whoever opens them, the
 * terminal is kernel 0's. Their names are in the tree (kernel/fs/tree/tree.h). */
#ifndef KERNEL_FILE_SERVE_DEVICE_H
#define KERNEL_FILE_SERVE_DEVICE_H

#include "kernel/file/file.h"

/* A terminal with a number of its own, or its slave: kernel 0 opens it (tty_open). */
bool device_is_terminal(uint64_t number);
/* -ENXIO: no such device, or the terminal; -ENOMEM. */
int64_t device_open(uint64_t number, const struct file_facts *facts, uint32_t flags, struct file **out);
/* The name of device NUMBER, whole, or one that does not exist. */
void device_path(uint64_t number, char *out, size_t size);
/* The name that device INDEX, from 0 on, has in /dev, and its number; NULL: there are no more. */
const char *device_name(uint32_t index, uint64_t *number);
/* SIZE random bytes; not for secrets. */
void device_random(void *to, size_t size);

#endif
