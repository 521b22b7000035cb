/* Decoder for static x86-64 ELF executables: ET_EXEC and static PIE (ET_DYN without PT_INTERP).
 * System V gABI chapters 4 and 5. Checks everything; touches no memory but the file it is given. */
#ifndef TASKS_ELF_H
#define TASKS_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_SEGMENTS_MAX 16
#define ELF_READ 4u
#define ELF_WRITE 2u
#define ELF_EXEC 1u

struct elf_segment {
    uint64_t address;     /* virtual address of the first byte, not biased */
    uint64_t memory_size; /* bytes, at least file_size, never 0 */
    uint64_t file_offset;
    uint64_t file_size;
    uint32_t flags; /* ELF_READ | ELF_WRITE | ELF_EXEC */
};

/* What a loader and the auxiliary vector need. Empty segments are left out. */
struct elf_image {
    bool position_independent; /* ET_DYN: the caller chooses a bias, a multiple of the page size */
    bool executable_stack;     /* PT_GNU_STACK asks for it */
    uint32_t segment_count;
    uint64_t entry;             /* not biased */
    uint64_t header_address;    /* address of the program headers (AT_PHDR), not biased, 0 when not loaded */
    uint64_t header_entry_size; /* AT_PHENT */
    uint64_t header_count;      /* AT_PHNUM */
    uint64_t low, high;         /* page-aligned span of all segments, not biased */
    struct elf_segment segments[ELF_SEGMENTS_MAX]; /* ascending, not overlapping by page unless flags agree */
};

/* Decodes FILE. -ENOEXEC: not an x86-64 little-endian ELF64 executable, needs an interpreter, or is damaged
 * (a header or segment out of bounds, sizes that wrap, segments out of order, overlapping, or whose address and file
 * offset differ within a page, an entry point outside every executable segment, a fixed address in page 0, addresses
 * outside the lower half below 0x7ffffffff000). -E2BIG: more loadable segments than ELF_SEGMENTS_MAX. */
int elf_parse(const void *file, size_t size, struct elf_image *out);

#endif
