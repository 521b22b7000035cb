/* The entries of a directory as getdents64 gives them: made in memory when it is opened, so a listing is one moment's.
 */
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
    bool failed; /* there was no memory: entries are missing */
};

/* Writes an entry as getdents64 gives it to TO, which is not aligned, or nowhere if that is NULL; NEXT is the place
 * that follows it. Returns its bytes. */
size_t dirent_write(uint8_t *to, const char *name, size_t length, uint64_t inode, uint32_t mode, uint64_t next);
/* Adds NAME (LENGTH bytes, at most NAME_MAX) unless it is there. MODE: a file type. */
void dirents_add(struct dirents *directory, const char *name, size_t length, uint64_t inode, uint32_t mode);
void dirents_free(struct dirents *directory);
/* Opens DIRECTORY, known as PATH (a name as path_normalize writes it); its memory goes with the file, or is freed.
 * -ENOMEM. */
int64_t dirents_open(struct dirents *directory, const char *path, const struct file_facts *facts, uint32_t flags,
                     struct file **out);

#endif
