/* Devices by their numbers (major << 8 | minor, as Linux): those without hardware are files of whoever opens them,
 * terminals are kernel 0's. Their names are in the tree (kernel/fs/tree/tree.h). */
#ifndef KERNEL_FS_DEVICE_DEVICE_H
#define KERNEL_FS_DEVICE_DEVICE_H

#include "kernel/file/file.h"

/* Terminals: filled in by kernel/tty. */
struct device_terminals {
    const struct device_name {
        const char *name; /* in /dev */
        uint64_t number;
    } * names;
    uint32_t count;
    /* A terminal with a number of its own, or its slave. */
    bool (*has)(uint64_t number);
    /* Kernel 0: opens it for a name whose node has FACTS; FLAGS: with OPEN_ANYWAY for root. *SESSION: whose it is.
     * -ENXIO, -EIO, -EBUSY, -ENOMEM. */
    int64_t (*open)(uint64_t number, const struct file_facts *facts, uint32_t flags, struct file **out,
                    uint32_t *session);
    /* The name of a slave, whole. False: it is none. */
    bool (*path)(uint64_t number, char *out, size_t size);
};
extern struct device_terminals device_terminals; /* [i] */

/* -ENXIO: no such device, or a terminal; -ENOMEM. */
int64_t device_open(uint64_t number, const struct file_facts *facts, uint32_t flags, struct file **out);
/* The name of device NUMBER, whole, or one that does not exist. */
void device_path(uint64_t number, char *out, size_t size);
/* The name that device INDEX, from 0 on, has in /dev, and its number; NULL: there are no more. */
const char *device_name(uint32_t index, uint64_t *number);
/* SIZE random bytes; not for secrets. */
void device_random(void *to, size_t size);

#endif
