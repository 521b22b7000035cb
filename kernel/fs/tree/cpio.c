/* Reader of newc archives. See cpio.h. An entry is a header of ASCII hexadecimal fields, the name with its NUL, and the
 * data; header plus name, and data, are each padded to four bytes. No byte outside the archive is read, whatever the
 * headers contain, and every call either advances or fails. */
#include "kernel/fs/tree/cpio.h"

#include <stdbool.h>

#include "kernel/abi/errno.h"
#include "kernel/lib/string.h"

struct newc_header {
    char magic[6]; /* "070701", or "070702" with a checksum, which Linux ignores too */
    char inode[8];
    char mode[8];
    char uid[8];
    char gid[8];
    char links[8];
    char mtime[8];
    char file_size[8];
    char device_major[8];
    char device_minor[8];
    char special_major[8];
    char special_minor[8];
    char name_size[8]; /* bytes of the name with its NUL */
    char checksum[8];
};

_Static_assert(sizeof(struct newc_header) == 110, "a newc header is 110 characters");

static const char trailer[] = "TRAILER!!!";

static bool decode_hex(const char field[8], uint32_t *value)
{
    uint32_t result = 0;

    for (int i = 0; i < 8; i++) {
        char c = field[i];
        uint32_t digit;
        if (c >= '0' && c <= '9')
            digit = (uint32_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            digit = (uint32_t)(c - 'a') + 10;
        else if (c >= 'A' && c <= 'F')
            digit = (uint32_t)(c - 'A') + 10;
        else
            return false;
        result = result << 4 | digit;
    }
    *value = result;
    return true;
}

/* The next multiple of four, or SIZE when that comes first: the last padding of an archive may be missing. */
static size_t align_within(size_t offset, size_t size)
{
    size_t padding = (4 - offset % 4) % 4;

    return padding > size - offset ? size : offset + padding;
}

static const char *strip_root(const char *name)
{
    for (;;) {
        if (name[0] == '/')
            name++;
        else if (name[0] == '.' && name[1] == '/')
            name += 2;
        else
            return name;
    }
}

/* Decodes the entry that starts at AT and gives the offset behind it. */
static int decode_entry(const char *archive, size_t size, size_t at, struct cpio_entry *entry, size_t *next)
{
    struct newc_header header;
    uint32_t name_size;
    uint32_t file_size;

    if (at % 4 != 0 || size - at < sizeof(header))
        return -EINVAL;
    memcpy(&header, archive + at, sizeof(header));
    if (memcmp(header.magic, "070701", 6) != 0 && memcmp(header.magic, "070702", 6) != 0)
        return -EINVAL;
    if (!decode_hex(header.inode, &entry->inode) || !decode_hex(header.mode, &entry->mode) ||
        !decode_hex(header.uid, &entry->uid) || !decode_hex(header.gid, &entry->gid) ||
        !decode_hex(header.special_major, &entry->major) || !decode_hex(header.special_minor, &entry->minor) ||
        !decode_hex(header.mtime, &entry->mtime) || !decode_hex(header.file_size, &file_size) ||
        !decode_hex(header.name_size, &name_size))
        return -EINVAL;
    at += sizeof(header);

    const char *name = archive + at;
    if (name_size == 0 || name_size > CPIO_NAME_MAX || name_size > size - at)
        return -EINVAL;
    if (strnlen(name, name_size) != name_size - 1)
        return -EINVAL;
    at = align_within(at + name_size, size);

    if (file_size > size - at)
        return -EINVAL;
    entry->name = name;
    entry->data = archive + at;
    entry->size = file_size;
    *next = align_within(at + file_size, size);
    return 0;
}

int cpio_next(const void *archive, size_t size, size_t *offset, struct cpio_entry *entry)
{
    const char *bytes = archive;
    size_t at = *offset;

    if (at > size)
        return -EINVAL;
    for (;;) {
        while (at < size && bytes[at] == 0)
            at++;
        if (at == size) {
            *offset = at;
            return 0;
        }

        struct cpio_entry found;
        int error = decode_entry(bytes, size, at, &found, &at);
        if (error)
            return error;
        if (strcmp(found.name, trailer) == 0)
            continue;
        found.name = strip_root(found.name);
        *entry = found;
        *offset = at;
        return 1;
    }
}
