/* Loading a program. See the header. System V ABI, AMD64 supplement, 3.4.1 (initial stack and auxiliary vector). */
#include "tasks/program/program.h"

#include "boot/options/options.h"
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/area/backing.h"
#include "mm/change/change.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"
#include "mm/page/populate.h"
#include "mm/space/entry.h"
#include "msg/slice.h"

#define STACK_TOP PROGRAM_STACK_TOP
#define STACK_SLACK (4 * PAGE_SIZE)           /* bytes mapped at once below the loader's data on the stack */
#define STACK_FIRST (132ull << 10)            /* bytes of the stack's area at first; it grows later */
#define PROGRAM_END (STACK_TOP - STACK_FIRST) /* limit of the addresses of loaded segments */
#define PIE_BASE 0x555555554000ull
#define CLOCK_TICKS 100
#define STRING_PART 4096u /* bytes of strings between two looks whether a slice is over */

enum {
    AT_NULL = 0,
    AT_PHDR = 3,
    AT_PHENT = 4,
    AT_PHNUM = 5,
    AT_PAGESZ = 6,
    AT_BASE = 7,
    AT_FLAGS = 8,
    AT_ENTRY = 9,
    AT_UID = 11,
    AT_EUID = 12,
    AT_GID = 13,
    AT_EGID = 14,
    AT_PLATFORM = 15,
    AT_HWCAP = 16,
    AT_CLKTCK = 17,
    AT_SECURE = 23,
    AT_RANDOM = 25,
    AT_HWCAP2 = 26,
    AT_EXECFN = 31,
    AT_SYSINFO_EHDR = 33
};

/* A writable segment of fewer pages is copied at once: most of its pages are written, and a fault costs more than the
 * copy of a page. */
#define SHARED_LEAST 64u

/* A segment in memory; addresses are those in the space. */
struct placed {
    const struct elf_segment *segment;
    uint64_t address;    /* of its first byte */
    uint64_t start, end; /* its pages, without those that the segment before it has */
    uint64_t next;       /* where the pages of the next one begin, or UINT64_MAX */
    uint32_t prot;
};

/* Copies the file's bytes of [START, END) of P's pages. */
static void write_segment(struct space *space, const struct elf_file *file, const struct placed *p, uint64_t start,
                          uint64_t end)
{
    uint64_t file_end = p->address + p->segment->file_size;
    size_t count;

    start = start > p->address ? start : p->address;
    end = end < file_end ? end : file_end;
    for (uint64_t at = start; at < end; at += count) {
        const uint8_t *from = elf_file_at(file, p->segment->file_offset + (at - p->address), end - at, &count);

        space_write(space, at, from, count);
    }
}

/* The end of the pages, from P's start on, that can be those of the file: pages that no other segment has, and behind
 * whose last byte the file's bytes may be seen, because the segment has none of zeros there. */
static uint64_t shared_end(const struct placed *p)
{
    uint64_t end = p->address + p->segment->file_size;

    if (p->segment->memory_size == p->segment->file_size)
        end = page_up(end);
    else
        end &= ~(PAGE_SIZE - 1);
    end = end < p->next ? end : p->next;
    if (end <= p->start || ((p->prot & AREA_WRITE) != 0 && (end - p->start) / PAGE_SIZE < SHARED_LEAST))
        return p->start;
    return end;
}

/* Makes a segment's pages: maps those of the file, and makes and fills the others. */
static int load_segment(struct space *space, const struct elf_file *file, const struct placed *p)
{
    uint64_t shared = shared_end(p);
    size_t first = (p->segment->file_offset + p->start - p->address) / PAGE_SIZE;
    struct frame_stats frames;
    int error = 0;

    if (shared > p->start)
        error = space_populate_with(space, p->start, shared, p->prot, file->pieces + first);
    frame_stats(&frames);
    if (error == 0 && shared < p->end) /* a segment larger than the free memory is refused before it takes any */
        error = (p->end - shared) / PAGE_SIZE < frames.free ? space_populate(space, shared, p->end, p->prot) : -ENOMEM;
    if (error == 0) {
        write_segment(space, file, p, p->address, p->start); /* its part of a page of the segment before it */
        write_segment(space, file, p, shared, p->end);
    }
    return error;
}

/* Two segments may share a page only with equal protection (elf_parse). */
static int load_segments(struct space *space, const struct elf_file *file, const struct elf_image *image, uint64_t bias,
                         uint64_t *mapped_end)
{
    int error = 0;

    for (uint32_t i = 0; i < image->segment_count && error == 0; i++) {
        const struct elf_segment *segment = &image->segments[i];
        struct placed p = {.segment = segment, .address = segment->address + bias, .next = UINT64_MAX};

        p.start = p.address & ~(PAGE_SIZE - 1);
        p.end = page_up(p.address + segment->memory_size);
        if (p.start < *mapped_end)
            p.start = *mapped_end;
        if (p.end < p.start)
            p.end = p.start;
        if (i + 1 < image->segment_count)
            p.next = (segment[1].address + bias) & ~(PAGE_SIZE - 1);
        p.prot = ((segment->flags & ELF_READ) != 0 ? AREA_READ : 0) |
                 ((segment->flags & ELF_WRITE) != 0 ? AREA_WRITE : 0) |
                 ((segment->flags & ELF_EXEC) != 0 ? AREA_EXEC : 0);
        error = load_segment(space, file, &p);
        if (error == 0)
            *mapped_end = p.end;
    }
    return error;
}

/* Writes words, ascending, below the strings on the new stack. */
struct stack_writer {
    struct space *space;
    uint64_t at;
};

static void put_word(struct stack_writer *w, uint64_t word)
{
    space_write(w->space, w->at, &word, sizeof(word));
    w->at += sizeof(word);
}

size_t exec_string_size(const char *string)
{
    size_t size = 0, part;

    do {
        part = strnlen(string + size, STRING_PART);
        size += part;
        slice_check();
    } while (part == STRING_PART);
    return size + 1;
}

void exec_strings_copy(char *to, const char *from, size_t size)
{
    for (size_t at = 0; at < size; at += STRING_PART) {
        memcpy(to + at, from + at, size - at < STRING_PART ? size - at : STRING_PART);
        slice_check();
    }
}

static void put_pointers(struct stack_writer *w, const char *strings, uint32_t count, uint64_t address)
{
    for (uint32_t i = 0; i < count; i++) {
        size_t length = exec_string_size(strings);

        put_word(w, address);
        strings += length;
        address += length;
    }
    put_word(w, 0);
}

/* 16 bytes for the program's stack protector, from the boot option seed= so that a run can be repeated, else from the
 * time. */
static void random_bytes(uint64_t out[2])
{
    uint64_t state = option_number(instance.cmdline, "seed");

    if (state == 0)
        state = rdtsc() ^ clock_epoch();
    for (int i = 0; i < 2; i++) { /* splitmix64 (Steele, Lea, Flood 2014) */
        uint64_t z = state += 0x9e3779b97f4a7c15ull;

        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ z >> 27) * 0x94d049bb133111ebull;
        out[i] = z ^ z >> 31;
    }
}

static int build_stack(struct space *space, const struct elf_image *image, uint64_t bias, const char *path,
                       const struct exec_strings *strings, struct program_start *made)
{
    static const char platform[] = "x86_64";
    size_t path_size = strlen(path) + 1;
    uint64_t path_at = STACK_TOP - 16 - path_size;
    uint64_t envp_at = path_at - strings->envp_size;
    uint64_t argv_at = envp_at - strings->argv_size;
    uint64_t platform_at = argv_at - sizeof(platform);
    uint64_t random_at = (platform_at - 16) & ~15ull;
    uint64_t random[2];
    const uint64_t auxv[][2] = {
        {AT_SYSINFO_EHDR, VDSO_BASE},
        {AT_PHDR, image->header_address != 0 ? image->header_address + bias : 0},
        {AT_PHENT, image->header_entry_size},
        {AT_PHNUM, image->header_count},
        {AT_PAGESZ, PAGE_SIZE},
        {AT_BASE, 0},
        {AT_FLAGS, 0},
        {AT_ENTRY, image->entry + bias},
        {AT_UID, strings->user->uid},
        {AT_EUID, strings->user->euid},
        {AT_GID, strings->user->gid},
        {AT_EGID, strings->user->egid},
        {AT_SECURE, strings->secure ? 1 : 0},
        {AT_RANDOM, random_at},
        {AT_HWCAP, cpuid(1, 0).edx},
        {AT_HWCAP2, 0},
        {AT_CLKTCK, CLOCK_TICKS},
        {AT_PLATFORM, platform_at},
        {AT_EXECFN, path_at},
        {AT_NULL, 0},
    };
    uint64_t words = 1 + strings->argc + 1 + strings->envc + 1 + 2 * (sizeof(auxv) / sizeof(auxv[0]));
    struct stack_writer w = {.space = space, .at = (random_at - 8 * words) & ~15ull};
    uint64_t populated = (w.at - STACK_SLACK) & ~(PAGE_SIZE - 1);
    uint64_t start = populated < STACK_TOP - STACK_FIRST ? populated : STACK_TOP - STACK_FIRST;
    int error;

    if (strings->argv_size + strings->envp_size + path_size > EXEC_STRINGS_MAX)
        return -E2BIG;
    error = space_populate(space, populated, STACK_TOP, AREA_READ | AREA_WRITE);
    if (error == 0) {
        spin_lock(&space->lock);
        error = area_set(&space->areas, start, STACK_TOP, AREA_READ | AREA_WRITE | AREA_GROWS);
        spin_unlock(&space->lock);
    }
    if (error != 0)
        return error;
    random_bytes(random);
    space_write(space, path_at, path, path_size);
    space_write(space, envp_at, strings->envp, strings->envp_size);
    space_write(space, argv_at, strings->argv, strings->argv_size);
    space_write(space, platform_at, platform, sizeof(platform));
    space_write(space, random_at, random, sizeof(random));
    made->stack = w.at;
    made->environment = envp_at;
    put_word(&w, strings->argc);
    put_pointers(&w, strings->argv, strings->argc, argv_at);
    put_pointers(&w, strings->envp, strings->envc, envp_at);
    for (size_t i = 0; i < sizeof(auxv) / sizeof(auxv[0]); i++) {
        put_word(&w, auxv[i][0]);
        put_word(&w, auxv[i][1]);
    }
    return 0;
}

/* The pages come from kernel 0 when they are touched (mm/file/file_map.md). */
static int map_vdso(struct space *space)
{
    int error;

    spin_lock(&space->lock);
    error = area_set_backed(&space->areas, VVAR_BASE, VDSO_BASE, AREA_READ,
                            backing_make(0, BACKING_VDSO, 0) | BACKING_READ_ONLY);
    if (error == 0)
        error = area_set_backed(&space->areas, VDSO_BASE, VDSO_BASE + VDSO_SIZE, AREA_READ | AREA_EXEC,
                                backing_make(0, BACKING_VDSO, 1) | BACKING_READ_ONLY);
    spin_unlock(&space->lock);
    return error;
}

/* *BIAS is added to IMAGE's addresses. -ENOEXEC: the image does not fit below the stack. */
static int place(const struct elf_image *image, uint64_t *bias)
{
    uint64_t start = image->position_independent ? PIE_BASE : image->low;

    *bias = start - image->low;
    return start > PROGRAM_END || image->high - image->low > PROGRAM_END - start ? -ENOEXEC : 0;
}

int program_load(struct space *space, const struct elf_file *file, const char *path, const struct exec_strings *strings,
                 struct program_start *start)
{
    struct elf_image *image = heap_alloc(sizeof(*image));
    uint64_t bias = 0, mapped_end = 0;
    int error = -ENOMEM;

    if (image == NULL)
        return -ENOMEM;
    error = elf_parse(file, image);
    if (error == 0)
        error = place(image, &bias);
    if (error == 0)
        error = load_segments(space, file, image, bias, &mapped_end);
    if (error == 0) {
        space_set_break(space, mapped_end);
        error = build_stack(space, image, bias, path, strings, start);
    }
    if (error == 0)
        error = map_vdso(space);
    start->entry = image->entry + bias;
    heap_free(image, sizeof(*image));
    return error;
}

int program_check(const struct elf_file *file, const char *path, const struct exec_strings *strings)
{
    struct elf_image *image = heap_alloc(sizeof(*image));
    int error = image != NULL ? elf_parse(file, image) : -ENOMEM;
    uint64_t bias;

    if (error == 0)
        error = place(image, &bias);
    heap_free(image, sizeof(*image));
    if (error == 0 && strings->argv_size + strings->envp_size + strlen(path) + 1 > EXEC_STRINGS_MAX)
        error = -E2BIG;
    return error;
}

const char *program_name(const char *path)
{
    for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(path, '/'))
        path = slash + 1;
    return path;
}
