/* ioctl(2) on terminals. */
#ifndef KERNEL_CALLS_FILES_TERMINAL_H
#define KERNEL_CALLS_FILES_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

/* Performs COMMAND with ARGUMENT on FD; *RESULT is the result of the call. False: COMMAND is not a terminal ioctl. */
bool terminal_ioctl(int64_t fd, uint32_t command, uint64_t argument, int64_t *result);

#endif
