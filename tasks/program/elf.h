/* Decoder for static x86-64 ELF executables: ET_EXEC and static PIE (ET_DYN without PT_INTERP). System V gABI chapters
 * 4 and 5. Checks every field; reads only the file's bytes. */
#ifndef TASKS_PROGRAM_ELF_H
#define TASKS_PROGRAM_ELF_H

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

/* The bytes of a file, in pieces: no file needs memory in one piece. */
struct elf_file {
    const uint8_t *const *pieces; /* pieces that hold only bytes from elf_file_used on may be missing */
    size_t piece_size;            /* bytes of each but the last, not 0 */
    size_t size;                  /* bytes of the whole file */
};

/* The data that a loader and the auxiliary vector need. Empty segments are left out. */
struct elf_image {
    bool position_independent; /* ET_DYN: the caller chooses a bias, a multiple of the page size */
    bool executable_stack;     /* PT_GNU_STACK asks for it */
    uint32_t segment_count;
    uint64_t entry;             /* not biased */
    uint64_t header_address;    /* address of the program headers (AT_PHDR), not biased, 0 when not loaded */
    uint64_t header_entry_size; /* AT_PHENT */
    uint64_t header_count;      /* AT_PHNUM */
    uint64_t low, high;         /* page-aligned span of all segments, not biased */
    struct elf_segment segments[ELF_SEGMENTS_MAX]; /* ascending; segments share a page only if their flags are equal */
};

/* Decodes FILE, all required pieces of which are present. -ENOEXEC: not an x86-64 little-endian ELF64 executable, needs
 * an interpreter, or is damaged (a header or segment out of bounds, sizes that wrap, segments out of order,
 * overlapping, or whose address and file offset differ within a page, an entry point outside every executable segment,
 * a fixed address in page 0, addresses outside the lower half below 0x7ffffffff000). -E2BIG: more loadable segments
 * than ELF_SEGMENTS_MAX. */
int elf_parse(const struct elf_file *file, struct elf_image *out);

/* Writes the name of the interpreter that FILE asks for to NAME (ROOM bytes). All required pieces of FILE must be
 * present. -ENOENT: it asks for none; -ENOEXEC: FILE is no such executable, or the name is damaged. */
int elf_interpreter(const struct elf_file *file, char *name, size_t room);

/* For FILE with only its first piece present: the number of its bytes that elf_parse and a loader read, at least the
 * first piece and at most the size. Bytes beyond, such as debugging information, may be missing. */
size_t elf_file_used(const struct elf_file *file);
/* Returns the address of the byte of FILE at OFFSET. *COUNT is how many of the next SIZE bytes lie in the same piece,
 * at least one if SIZE is not 0. All SIZE bytes must be in the file. */
const uint8_t *elf_file_at(const struct elf_file *file, uint64_t offset, size_t size, size_t *count);
/* Copies SIZE bytes at OFFSET, which are in the file, to OUT. */
void elf_file_read(const struct elf_file *file, uint64_t offset, void *out, size_t size);

#endif
