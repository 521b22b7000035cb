/* Physical memory for the tests of the firmware parsers: a few pieces of bytes at addresses of our choice, behind the
 * interface of boot/firmware/physmem.h. A read across a piece's end or between pieces is refused, as beyond a real
 * window. */
#ifndef TESTS_BOOT_PHYSICAL_H
#define TESTS_BOOT_PHYSICAL_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "boot/firmware/physmem.h"

#define PIECES_MAX 64

struct piece {
    uint64_t base;
    size_t size;
    uint8_t *bytes; /* an allocation of exactly SIZE bytes, so that the sanitizer guards its end */
};

struct physical {
    uint32_t count;
    struct piece pieces[PIECES_MAX];
};

static inline const void *physical_map(void *context, uint64_t base, size_t length)
{
    const struct physical *physical = context;

    for (uint32_t i = 0; i < physical->count; i++) {
        const struct piece *piece = &physical->pieces[i];
        if (base >= piece->base && base - piece->base <= piece->size && length <= piece->size - (base - piece->base))
            return piece->bytes + (base - piece->base);
    }
    return NULL;
}

static inline struct physmem physical_memory(struct physical *physical)
{
    return (struct physmem){.context = physical, .map = physical_map};
}

/* Adds SIZE zero bytes at BASE and returns them. */
static inline uint8_t *physical_add(struct physical *physical, uint64_t base, size_t size)
{
    struct piece *piece = &physical->pieces[physical->count++];

    if (physical->count > PIECES_MAX)
        abort();
    *piece = (struct piece){.base = base, .size = size, .bytes = calloc(1, size)};
    if (!piece->bytes)
        abort();
    return piece->bytes;
}

static inline void physical_free(struct physical *physical)
{
    for (uint32_t i = 0; i < physical->count; i++)
        free(physical->pieces[i].bytes);
    physical->count = 0;
}

/* Loads a fixture that tests/boot/acpi/capture.py wrote; the first piece is the RSDP. */
static inline void physical_load(struct physical *physical, const char *path)
{
    FILE *file = fopen(path, "r");
    char line[4096];
    uint8_t *bytes = NULL;
    size_t filled = 0;
    size_t size = 0;

    if (!file) {
        fprintf(stderr, "%s: no such file: run this from the project's root\n", path);
        abort();
    }
    while (fgets(line, sizeof(line), file)) {
        unsigned long long base;
        if (line[0] == '#')
            continue;
        if (sscanf(line, "@ %llx %zu", &base, &size) == 2) {
            bytes = physical_add(physical, base, size);
            filled = 0;
            continue;
        }
        unsigned byte;
        for (const char *at = line; bytes && filled < size && sscanf(at, "%2x", &byte) == 1; at += 2)
            bytes[filled++] = (uint8_t)byte;
    }
    fclose(file);
}

#endif
