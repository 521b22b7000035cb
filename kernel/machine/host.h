/* The machine's host and domain names, as uname(2) returns them. Kernel 0 stores them for all kernels. */
#ifndef KERNEL_MACHINE_HOST_H
#define KERNEL_MACHINE_HOST_H

#include <stdint.h>

#define HOST_NAME_MAX 64u /* bytes, without a NUL */

enum host_name { HOST_NODE, HOST_DOMAIN, HOST_NAMES };

struct host_names {
    char text[HOST_NAMES][HOST_NAME_MAX + 1]; /* filled up with NULs */
};

void host_init(void);
/* Reads the current names. Tasks only; waits for kernel 0. -ENOMEM. */
int host_names(struct host_names *out);
/* Sets the name WHICH to TEXT (LENGTH bytes, at most HOST_NAME_MAX) on every kernel. Tasks only; waits for kernel 0.
 * -ENOMEM. */
int host_set(enum host_name which, const char *text, uint32_t length);

#endif
