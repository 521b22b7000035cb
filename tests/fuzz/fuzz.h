/* What the fuzzers share. An input is one piece of physical memory or one file; what must hold of the result is
 * REQUIREd, so that a broken promise stops the fuzzer as a bad access does. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boot/firmware/physmem.h"

#define FUZZ_BASE 0x10000u /* physical address of an input that stands for memory */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                            \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

#define FUZZ_MAPS_MAX 4096

/* The input as physical memory. Each mapping is a copy of its own, so the sanitizer sees a read beyond what was asked
 * for even when it stays inside the input. */
struct fuzz_memory {
    const uint8_t *data;
    size_t size;
    uint32_t count;
    void *copies[FUZZ_MAPS_MAX];
};

static inline const void *fuzz_map(void *context, uint64_t base, size_t length)
{
    struct fuzz_memory *memory = context;

    if (base < FUZZ_BASE || base - FUZZ_BASE > memory->size || length > memory->size - (base - FUZZ_BASE) ||
        memory->count == FUZZ_MAPS_MAX)
        return NULL;
    void *copy = malloc(length > 0 ? length : 1);
    REQUIRE(copy);
    memcpy(copy, memory->data + (base - FUZZ_BASE), length);
    memory->copies[memory->count++] = copy;
    return copy;
}

static inline struct physmem fuzz_memory(struct fuzz_memory *memory, const uint8_t *data, size_t size)
{
    memory->data = data;
    memory->size = size;
    memory->count = 0;
    return (struct physmem){.context = memory, .map = fuzz_map};
}

static inline void fuzz_memory_free(struct fuzz_memory *memory)
{
    while (memory->count > 0)
        free(memory->copies[--memory->count]);
}

/* Takes the next bytes of an input, then zeros. */
struct fuzz_reader {
    const uint8_t *data;
    size_t left;
};

static inline uint64_t fuzz_take(struct fuzz_reader *reader, size_t bytes)
{
    uint64_t value = 0;

    if (bytes > reader->left)
        bytes = reader->left;
    memcpy(&value, reader->data, bytes);
    reader->data += bytes;
    reader->left -= bytes;
    return value;
}

#endif
