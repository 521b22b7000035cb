/* Devices by their numbers (major << 8 | minor, as on Linux). An open device without hardware is a file on the kernel
 * that opens it; terminals are on kernel 0. The names of devices are entries of the tree (kernel/fs/tree/tree.h). */
#ifndef KERNEL_FS_DEVICE_DEVICE_H
#define KERNEL_FS_DEVICE_DEVICE_H

#include "kernel/file/file.h"

/* The operations on terminals, filled in by kernel/tty. */
struct device_terminals {
    const struct device_name {
        const char *name; /* in /dev */
        uint64_t number;
    } * names;
    uint32_t count;
    /* Returns true if NUMBER is a terminal that has its own number, or the slave of one. */
    bool (*has)(uint64_t number);
    /* Opens terminal NUMBER through a name whose node has FACTS. Kernel 0 only. OPEN_ANYWAY in FLAGS marks an open by
     * root. *SESSION receives the session that the terminal belongs to. -ENXIO, -EIO, -EBUSY, -ENOMEM. */
    int64_t (*open)(uint64_t number, const struct file_facts *facts, uint32_t flags, struct file **out,
                    uint32_t *session);
    /* Writes the absolute path of slave NUMBER to OUT. Returns false if NUMBER is not a slave. */
    bool (*path)(uint64_t number, char *out, size_t size);
};
extern struct device_terminals device_terminals; /* [i] */

/* Opens device NUMBER. -ENXIO: there is no such device, or it is a terminal; -ENOMEM. */
int64_t device_open(uint64_t number, const struct file_facts *facts, uint32_t flags, struct file **out);
/* The kind of open files of device NUMBER, which have no state; NULL: there is no such device, or it is a terminal. */
const struct file_kind *device_kind(uint64_t number);
/* Writes the absolute path of device NUMBER to OUT; for an unknown number, a path that does not exist. */
void device_path(uint64_t number, char *out, size_t size);
/* Returns the name that device INDEX has in /dev and sets *NUMBER; NULL behind the last device. Indices begin at 0. */
const char *device_name(uint32_t index, uint64_t *number);
/* Fills TO with SIZE random bytes that are not fit for secrets. */
void device_random(void *to, size_t size);

#endif
