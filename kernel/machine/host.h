/* The names of the machine, as uname(2) tells them: kernel 0 has them, whoever asks. */
#ifndef KERNEL_MACHINE_HOST_H
#define KERNEL_MACHINE_HOST_H

#include <stdint.h>

#define HOST_NAME_MAX 64u /* bytes, without a NUL */

enum host_name { HOST_NODE, HOST_DOMAIN, HOST_NAMES };

struct host_names {
    char text[HOST_NAMES][HOST_NAME_MAX + 1]; /* filled up with NULs */
};

void host_init(void);
/* What they are now. Tasks only; waits for kernel 0. -ENOMEM. */
int host_names(struct host_names *out);
/* WHICH is TEXT (LENGTH bytes, at most HOST_NAME_MAX) from now on, on every kernel. Tasks only; waits for kernel 0.
 * -ENOMEM. */
int host_set(enum host_name which, const char *text, uint32_t length);

#endif
