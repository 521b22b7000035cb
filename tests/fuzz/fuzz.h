/* What the fuzzers share. An input is one piece of physical memory or one file; what must hold of the result is
 * REQUIREd, so that a broken promise stops the fuzzer as a bad access does. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/boot/physical.h"

#define FUZZ_BASE 0x10000u /* physical address of an input that stands for memory */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

#define REQUIRE(condition)                                                                                   \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                  \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

/* The input as memory. libFuzzer's copy has the input's exact size, so the sanitizer guards its end. */
static inline struct physical fuzz_memory(const uint8_t *data, size_t size)
{
    return (struct physical){.count = 1, .pieces = {{FUZZ_BASE, size, (uint8_t *)(uintptr_t)data}}};
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
