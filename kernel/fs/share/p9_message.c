/* 9P2000.L messages. See the header. */
#include "kernel/fs/share/p9_message.h"

#include "kernel/abi/errno.h"
#include "kernel/lib/string.h"

#define TYPE_AT 4u
#define TAG_AT 5u
#define ERROR_MAX 4095u
#define SECOND 1000000000ull

/* --- writing --- */

static void put(struct p9_writer *to, uint64_t value, uint32_t size)
{
    if (to->failed || size > to->room - to->size) {
        to->failed = true;
        return;
    }
    for (uint32_t i = 0; i < size; i++)
        to->bytes[to->size++] = (uint8_t)(value >> 8 * i);
}

void p9_begin(struct p9_writer *to, uint8_t *bytes, uint32_t room, enum p9_type type)
{
    *to = (struct p9_writer){.bytes = bytes, .room = room};
    p9_put32(to, 0);
    p9_put8(to, (uint8_t)type);
    p9_put16(to, P9_NO_TAG);
}

void p9_put8(struct p9_writer *to, uint8_t value)
{
    put(to, value, 1);
}

void p9_put16(struct p9_writer *to, uint16_t value)
{
    put(to, value, 2);
}

void p9_put32(struct p9_writer *to, uint32_t value)
{
    put(to, value, 4);
}

void p9_put64(struct p9_writer *to, uint64_t value)
{
    put(to, value, 8);
}

void p9_put_bytes(struct p9_writer *to, const void *bytes, uint32_t size)
{
    if (to->failed || size > to->room - to->size) {
        to->failed = true;
        return;
    }
    memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
}

void p9_put_text(struct p9_writer *to, const char *text, size_t length)
{
    if (length > UINT16_MAX) {
        to->failed = true;
        return;
    }
    p9_put16(to, (uint16_t)length);
    p9_put_bytes(to, text, (uint32_t)length);
}

void p9_put_change(struct p9_writer *to, const struct p9_change *change)
{
    p9_put32(to, change->what);
    p9_put32(to, change->mode);
    p9_put32(to, change->uid);
    p9_put32(to, change->gid);
    p9_put64(to, change->size);
    p9_put64(to, change->atime / SECOND);
    p9_put64(to, change->atime % SECOND);
    p9_put64(to, change->mtime / SECOND);
    p9_put64(to, change->mtime % SECOND);
}

bool p9_end(struct p9_writer *to)
{
    uint32_t size = to->size;

    if (to->failed)
        return false;
    to->size = 0;
    p9_put32(to, size);
    to->size = size;
    return true;
}

/* --- reading --- */

static uint64_t get(struct p9_reader *from, uint32_t size)
{
    uint64_t value = 0;

    if (from->failed || size > from->left) {
        from->failed = true;
        return 0;
    }
    for (uint32_t i = 0; i < size; i++)
        value |= (uint64_t)from->at[i] << 8 * i;
    from->at += size;
    from->left -= size;
    return value;
}

uint8_t p9_get8(struct p9_reader *from)
{
    return (uint8_t)get(from, 1);
}

uint16_t p9_get16(struct p9_reader *from)
{
    return (uint16_t)get(from, 2);
}

uint32_t p9_get32(struct p9_reader *from)
{
    return (uint32_t)get(from, 4);
}

uint64_t p9_get64(struct p9_reader *from)
{
    return get(from, 8);
}

int p9_open_answer(struct p9_reader *from, const uint8_t *bytes, uint32_t got, const uint8_t *request)
{
    uint32_t size;
    uint8_t type;

    *from = (struct p9_reader){.at = bytes, .left = got};
    size = p9_get32(from);
    type = p9_get8(from);
    if (from->failed || size < P9_HEADER || size > got || got < P9_HEADER)
        return -EIO;
    if (memcmp(bytes + TAG_AT, request + TAG_AT, 2) != 0)
        return -EIO;
    *from = (struct p9_reader){.at = bytes + P9_HEADER, .left = size - P9_HEADER};
    if (type == P9_ERROR + 1) {
        uint32_t error = p9_get32(from);

        return from->failed || error == 0 || error > ERROR_MAX ? -EIO : -(int)error;
    }
    return type == request[TYPE_AT] + 1 ? 0 : -EIO;
}

void p9_get_qid(struct p9_reader *from, struct p9_qid *qid)
{
    qid->type = p9_get8(from);
    qid->version = p9_get32(from);
    qid->path = p9_get64(from);
}

const char *p9_get_text(struct p9_reader *from, uint16_t *length)
{
    const char *text;

    *length = p9_get16(from);
    if (from->failed || *length > from->left) {
        from->failed = true;
        *length = 0;
        return NULL;
    }
    text = (const char *)from->at;
    from->at += *length;
    from->left -= *length;
    return text;
}

const uint8_t *p9_get_bytes(struct p9_reader *from, uint32_t most, uint32_t *size)
{
    *size = p9_get32(from);
    if (from->failed || *size > from->left || *size > most) {
        from->failed = true;
        *size = 0;
        return NULL;
    }
    return from->at;
}

/* Returns 0 (1970) for a time that is out of range. */
static uint64_t get_time(struct p9_reader *from)
{
    uint64_t seconds = p9_get64(from), rest = p9_get64(from);

    return seconds >= INT64_MAX / SECOND || rest >= SECOND ? 0 : seconds * SECOND + rest;
}

void p9_get_attributes(struct p9_reader *from, struct p9_attributes *attributes)
{
    p9_get64(from); /* mask of valid attributes, ignored: a file server knows all that stat needs */
    p9_get_qid(from, &attributes->qid);
    attributes->mode = p9_get32(from);
    attributes->uid = p9_get32(from);
    attributes->gid = p9_get32(from);
    attributes->links = p9_get64(from);
    attributes->device = p9_get64(from);
    attributes->size = p9_get64(from);
    attributes->block = p9_get64(from);
    attributes->blocks = p9_get64(from);
    attributes->atime = get_time(from);
    attributes->mtime = get_time(from);
    attributes->ctime = get_time(from);
    if (attributes->size > INT64_MAX)
        from->failed = true;
}

void p9_get_space(struct p9_reader *from, struct p9_space *space)
{
    space->type = p9_get32(from);
    space->block = p9_get32(from);
    space->blocks = p9_get64(from);
    space->free = p9_get64(from);
    space->available = p9_get64(from);
    space->files = p9_get64(from);
    space->files_free = p9_get64(from);
    space->id = p9_get64(from);
    space->name_max = p9_get32(from);
}

static bool is_name(const char *name, uint16_t length)
{
    if (length == 0 || length > P9_NAME_MAX)
        return false;
    for (uint16_t i = 0; i < length; i++) {
        if (name[i] == '\0' || name[i] == '/')
            return false;
    }
    return true;
}

bool p9_get_entry(struct p9_reader *from, struct p9_entry *entry)
{
    if (from->left == 0)
        return false;
    p9_get_qid(from, &entry->qid);
    entry->next = p9_get64(from);
    entry->type = p9_get8(from);
    entry->name = p9_get_text(from, &entry->length);
    if (!from->failed && (!is_name(entry->name, entry->length) || entry->next > INT64_MAX))
        from->failed = true;
    return !from->failed;
}
