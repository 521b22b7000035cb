/* Directory entries in the format of getdents64. A directory's entries are written into memory when it is opened, so a
 * listing shows the directory as it was at that moment. */
#ifndef KERNEL_FS_TEXT_DIRENT_H
#define KERNEL_FS_TEXT_DIRENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/file/file.h"

struct dirents {
    uint8_t *bytes; /* heap */
    size_t size;    /* allocated */
    size_t length;
    bool failed; /* memory ran out, and entries are missing */
};

/* Writes an entry in the format of getdents64 to TO, which need not be aligned; with TO NULL nothing is written. NEXT
 * is the offset of the following entry. Returns the length of the entry in bytes. */
size_t dirent_write(uint8_t *to, const char *name, size_t length, uint64_t inode, uint32_t mode, uint64_t next);
/* Adds NAME (LENGTH bytes, at most NAME_MAX) unless the directory has it already. MODE is a file type. Sets
 * DIRECTORY->failed if memory runs out. */
void dirents_add(struct dirents *directory, const char *name, size_t length, uint64_t inode, uint32_t mode);
/* The same for a name that the directory does not have. */
void dirents_append(struct dirents *directory, const char *name, size_t length, uint64_t inode, uint32_t mode);
/* Opens DIRECTORY under the name PATH, which is normalized: without leading, double and trailing slashes, "." and "..".
 * The memory of DIRECTORY passes to the file, or is freed on failure. -ENOMEM, also when an entry could not be added.
 */
int64_t dirents_open(struct dirents *directory, const char *path, const struct file_facts *facts, uint32_t flags,
                     struct file **out);

#endif
