/* Images of the kernel in files. See the header. */
#include "kernel/machine/image.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/base/instructions.h"
#include "kernel/file/remote.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/log.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/slice.h"

#define PART FILE_CHUNK /* bytes that are read at a time */
#define NO_SUM 0xcbf29ce484222325ull

_Static_assert(PART >= IMAGE_HEADER + sizeof(struct image_header), "the first part has the header");

/* The FNV-1a hash over words: tools/make-image writes that of the bytes before it behind the image. */
static uint64_t add_sum(uint64_t sum, const uint8_t *bytes, uint64_t size)
{
    for (uint64_t at = 0; at < size; at += sizeof(uint64_t)) {
        uint64_t word = 0;

        memcpy(&word, bytes + at, size - at < sizeof(word) ? size - at : sizeof(word));
        sum = (sum ^ word) * 0x100000001b3ull;
    }
    return sum;
}

static bool is_page(uint64_t address)
{
    return (address & (PAGE_SIZE - 1)) == 0;
}

/* BYTES are the first SIZE of a file. */
static int check(const uint8_t *bytes, uint64_t size, uint64_t room, struct image_header *header)
{
    if (size < IMAGE_HEADER + sizeof(*header))
        return -ENOEXEC;
    memcpy(header, bytes + IMAGE_HEADER, sizeof(*header));
    if (header->magic != IMAGE_MAGIC)
        return -ENOEXEC;
    if (header->wire != image_header.wire || header->start != image_header.start ||
        header->boot_page != image_header.boot_page || memcmp(bytes, image_start, IMAGE_HEADER) != 0) {
        log_line("kernel: an image for other kernels: it shares %016lx, and this machine %016lx",
                 (unsigned long)header->wire, (unsigned long)image_header.wire);
        return -EPROTO;
    }
    if (!is_page(header->text_end) || !is_page(header->constants_end) || !is_page(header->end) ||
        header->start >= header->text_end || header->text_end > header->constants_end ||
        header->constants_end > header->data_end || header->data_end > header->end || header->main < header->start ||
        header->main >= header->text_end || header->instance < header->constants_end ||
        header->instance > header->end || header->end - header->instance < sizeof(struct instance))
        return -ENOEXEC;
    return image_size(header) <= room ? 0 : -ENOSPC;
}

/* Reads from the file at OFFSET until SIZE bytes are there or the file ends. */
static int64_t read_part(const struct file_place *place, uint64_t offset, uint8_t *bytes, uint64_t size)
{
    uint64_t done = 0;

    while (done < size) {
        struct file_request request = {
            .operation = MSG_FILE_READ_AT, .fd = -1, .move.offset = (int64_t)(offset + done)};
        struct file_answer answer;
        int64_t count = file_call_at(place, &request, NULL, 0, bytes + done, size - done, &answer);

        if (count < 0)
            return count;
        if (count == 0)
            break;
        done += (uint64_t)count;
        slice_check();
    }
    return (int64_t)done;
}

static int read_all(const struct file_place *place, uint8_t *part, uint8_t *to, uint64_t room,
                    struct image_header *header)
{
    int64_t count = read_part(place, 0, part, PART);
    uint64_t sum = NO_SUM, stored, expected;
    int error;

    if (count < 0)
        return (int)count;
    error = check(part, (uint64_t)count, room, header);
    if (error != 0)
        return error;
    stored = header->data_end - header->start;
    for (uint64_t at = 0;;) {
        uint64_t size = stored - at < PART ? stored - at : PART;

        if ((uint64_t)count < size)
            return -ENOEXEC;
        sum = add_sum(sum, part, size);
        if (to != NULL)
            memcpy(to + at, part, size);
        slice_check();
        at += size;
        if (at == stored)
            break;
        count = read_part(place, at, part, PART);
        if (count < 0)
            return (int)count;
    }
    count = read_part(place, stored, (uint8_t *)&expected, sizeof(expected));
    if (count < 0)
        return (int)count;
    return count == sizeof(expected) && expected == sum ? 0 : -ENOEXEC;
}

int image_read(const struct file_place *place, uint8_t *to, uint64_t room, struct image_header *header)
{
    uint8_t *part = heap_alloc_unset(PART);
    int error;

    if (part == NULL)
        return -ENOMEM;
    error = read_all(place, part, to, room, header);
    heap_free(part, PART);
    if (error != 0)
        log_line("kernel: no kernel starts from this image: error %d", error);
    return error;
}
