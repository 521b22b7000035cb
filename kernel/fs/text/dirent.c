/* Builds directory entries in memory. See the header. Each entry is a struct linux_dirent64: inode, offset of the next
 * entry, length, type, and the name with its NUL, padded to a multiple of 8 bytes. */
#include "kernel/fs/text/dirent.h"

#include "kernel/abi/errno.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"

#define FIRST_SIZE 1024u
#define SIZE_MAX_BYTES (1u << 20)
#define HEAD 19u /* bytes of an entry before its name */
#define LENGTH_AT 16
#define TYPE_AT 18

static bool has(const struct dirents *directory, const char *name, size_t length)
{
    uint16_t step;

    for (size_t at = 0; at < directory->length; at += step) {
        const char *other = (const char *)directory->bytes + at + HEAD;

        memcpy(&step, directory->bytes + at + LENGTH_AT, sizeof(step));
        if (strncmp(other, name, length) == 0 && other[length] == '\0')
            return true;
    }
    return false;
}

static bool make_room(struct dirents *directory, size_t more)
{
    size_t size = directory->size == 0 ? FIRST_SIZE : directory->size;
    uint8_t *bytes;

    while (size < directory->length + more)
        size *= 2;
    if (size == directory->size)
        return true;
    bytes = size <= SIZE_MAX_BYTES ? heap_alloc_unset(size) : NULL;
    if (bytes == NULL)
        return false;
    if (directory->bytes != NULL) {
        memcpy(bytes, directory->bytes, directory->length);
        heap_free(directory->bytes, directory->size);
    }
    directory->bytes = bytes;
    directory->size = size;
    return true;
}

size_t dirent_write(uint8_t *to, const char *name, size_t length, uint64_t inode, uint32_t mode, uint64_t next)
{
    uint16_t step = (uint16_t)((HEAD + length + 1 + 7) & ~(size_t)7);

    if (to == NULL)
        return step;
    memset(to, 0, step);
    memcpy(to, &inode, sizeof(inode));
    memcpy(to + 8, &next, sizeof(next));
    memcpy(to + LENGTH_AT, &step, sizeof(step));
    to[TYPE_AT] = (uint8_t)((mode & FILE_TYPE_MASK) >> 12);
    memcpy(to + HEAD, name, length);
    return step;
}

void dirents_add(struct dirents *directory, const char *name, size_t length, uint64_t inode, uint32_t mode)
{
    if (!has(directory, name, length))
        dirents_append(directory, name, length, inode, mode);
}

void dirents_append(struct dirents *directory, const char *name, size_t length, uint64_t inode, uint32_t mode)
{
    size_t step = dirent_write(NULL, name, length, inode, mode, 0);

    if (!make_room(directory, step)) {
        directory->failed = true;
        return;
    }
    dirent_write(directory->bytes + directory->length, name, length, inode, mode, directory->length + step);
    directory->length += step;
}

static void dirents_free(struct dirents *directory)
{
    if (directory->bytes != NULL)
        heap_free(directory->bytes, directory->size);
    *directory = (struct dirents){.bytes = NULL};
}

int64_t dirents_open(struct dirents *directory, const char *path, const struct file_facts *facts, uint32_t flags,
                     struct file **out)
{
    struct file_facts own = *facts;
    size_t size = strlen(path) + 1;
    char *copy = directory->failed ? NULL : heap_alloc(size);

    own.size = directory->length;
    *out = NULL;
    if (copy != NULL)
        *out = file_create_data(&file_directory_kind, &own, flags, directory->bytes, directory->size);
    else
        dirents_free(directory);
    if (*out == NULL) {
        if (copy != NULL)
            heap_free(copy, size);
        return -ENOMEM;
    }
    memcpy(copy, path, size);
    (*out)->path = copy;
    return 0;
}
