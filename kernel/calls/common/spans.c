/* Ranges of the program's memory. See the header. */
#include "kernel/calls/common/spans.h"

#include "kernel/abi/errno.h"
#include "kernel/abi/limits.h"
#include "mm/frame/heap.h"
#include "mm/user/user_copy.h"

#define SPANS_MAX 1024u /* IOV_MAX */

static int64_t check(const struct span *list, uint32_t count, uint64_t *total)
{
    *total = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (list[i].size > INT64_MAX || *total + list[i].size > INT64_MAX)
            return -EINVAL;
        *total += list[i].size;
    }
    return 0;
}

int64_t spans_take(struct spans *spans, uint64_t address, uint64_t count)
{
    size_t size = count * sizeof(struct span);
    struct span *list;
    int64_t result = 0;

    if (count > SPANS_MAX)
        return -EINVAL;
    *spans = (struct spans){.count = (uint32_t)count};
    list = heap_alloc(size + 1);
    if (list == NULL)
        return -ENOMEM;
    if (user_read(list, address, size) != 0)
        result = -EFAULT;
    else
        result = check(list, spans->count, &spans->total);
    spans->list = list;
    if (result != 0)
        spans_free(spans);
    return result;
}

void spans_free(struct spans *spans)
{
    heap_free((void *)(uintptr_t)spans->list, spans->count * sizeof(struct span) + 1);
}

/* Copies up to SIZE bytes within one span. Returns how many were copied; -EFAULT: none. */
static int64_t move_part(struct spans *spans, uint8_t *buffer, uint64_t size, bool out)
{
    const struct span *span = &spans->list[spans->index];
    uint64_t at = span->address + spans->offset;
    uint64_t part = span->size - spans->offset < size ? span->size - spans->offset : size;
    int error = 0;

    if (part > 0)
        error = out ? user_write(at, buffer, part) : user_read(buffer, at, part);
    if (error != 0)
        return error;
    spans->offset += part;
    if (spans->offset == span->size) {
        spans->index++;
        spans->offset = 0;
    }
    return (int64_t)part;
}

int spans_move(struct spans *spans, uint8_t *buffer, uint64_t size, bool out)
{
    while (size > 0) {
        int64_t part = move_part(spans, buffer, size, out);

        if (part < 0)
            return (int)part;
        buffer += part;
        size -= (uint64_t)part;
    }
    return 0;
}

int64_t spans_move_some(struct spans *spans, uint8_t *buffer, uint64_t size, bool out)
{
    uint64_t done = 0, most = UINT64_MAX;
    int64_t part = size > 0 ? move_part(spans, buffer, size, out) : 0;

    if ((uint64_t)part == size)
        return part;
    if (part < 0)
        most = 0;
    else
        done = (uint64_t)part;
    while (done < size) {
        uint64_t left = size - done;

        if (most != UINT64_MAX)
            most = PAGE_SIZE - (spans->list[spans->index].address + spans->offset) % PAGE_SIZE;
        part = move_part(spans, buffer + done, left < most ? left : most, out);
        if (part < 0 && most != UINT64_MAX)
            break;
        if (part < 0)
            most = 0; /* a part cannot be accessed: continue page by page */
        else
            done += (uint64_t)part;
    }
    return done > 0 ? (int64_t)done : part;
}

uint64_t spans_reach(const struct spans *spans, uint64_t size)
{
    const struct span *span = &spans->list[spans->index];
    uint64_t offset = spans->offset, done = 0;

    if (size > 0 && span->size - offset >= size)
        return user_reach(span->address + offset, size);
    for (; done < size; span++) {
        uint64_t part = span->size - offset < size - done ? span->size - offset : size - done;
        uint64_t good = part > 0 ? user_reach(span->address + offset, part) : 0;

        done += good;
        if (good < part)
            break;
        offset = 0;
    }
    return done;
}
