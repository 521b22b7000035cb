/* Helpers shared by the system calls on files without names. */
#ifndef KERNEL_CALLS_COMMON_ANONYMOUS_H
#define KERNEL_CALLS_COMMON_ANONYMOUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/file/anonymous.h"

/* Creates the files of WHAT at the current process's home; FLAGS are open's. FDS[1] is -1 if there is only one file.
 * Returns FDS[0]. */
int64_t anonymous_new(enum anonymous what, uint32_t flags, const void *data, size_t size, int32_t fds[2]);
/* Performs FILE_OPERATE on FD of the current process. */
int64_t anonymous_call(int64_t fd, enum file_special what, uint32_t argument, const void *data, size_t size,
                       void *result, size_t room, struct file_answer *answer);
/* Finds the places of the files of COUNT descriptors, at most 16. The place of an invalid descriptor has id 0. */
int64_t anonymous_locate(const int32_t *fds, uint32_t count, struct file_place *places);

/* Reads a signalfd with SET: takes as many signals as there is ROOM for, and waits for the first one if MAY_WAIT. */
int64_t signalfd_take(uint64_t set, bool may_wait, uint8_t *buffer, size_t room);

#endif
