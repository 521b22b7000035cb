/* Reader for the initramfs: a cpio archive in the "newc" format, as the Linux kernel takes it
 * (Documentation/driver-api/early-userspace/buffer-format.rst). Points into the archive, copies nothing. */
#ifndef KERNEL_FS_TREE_CPIO_H
#define KERNEL_FS_TREE_CPIO_H

#include <stddef.h>
#include <stdint.h>

struct cpio_entry {
    const char *name; /* NUL-terminated, without leading "./" or "/" */
    const void *data;
    uint64_t size; /* bytes of data */
    uint32_t mode; /* st_mode */
    uint32_t inode;
    uint32_t mtime;
    uint32_t uid, gid;
    uint32_t major, minor; /* of a device */
};

#define CPIO_NAME_MAX 4096 /* length of a name with its NUL, as Linux's PATH_MAX */

/* Decodes the entry at *OFFSET of the archive and moves *OFFSET behind it. Offsets are multiples of 4, counted from the
 * archive's start, as in a file. Zero bytes between entries (padding of concatenated archives) are skipped, and so is a
 * TRAILER!!! that another archive follows. A name may be "" or "." (the root) and may contain "..", which the caller
 * must handle.
 * Returns 1 with an entry, 0 at the end, -EINVAL if the archive is damaged there (*OFFSET is unchanged). */
int cpio_next(const void *archive, size_t size, size_t *offset, struct cpio_entry *entry);

#endif
