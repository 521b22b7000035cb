/* Decoder for static x86-64 executables: see elf.h. The file is untrusted: every offset and size is compared with the
 * bytes that are left before it is added to anything, and no field is trusted because another field agrees with it. */
#include "tasks/program/elf.h"

#include "kernel/abi/errno.h"
#include "kernel/abi/limits.h"
#include "kernel/lib/string.h"

#define ADDRESS_END 0x7ffffffff000ULL /* first address that no program may use */

#define ELF_CLASS_64 2
#define ELF_DATA_LITTLE 1
#define ELF_VERSION 1
#define ELF_ABI_SYSV 0
#define ELF_ABI_GNU 3 /* static glibc programs have it, because of their indirect functions */
#define ELF_TYPE_EXEC 2
#define ELF_TYPE_DYN 3
#define ELF_MACHINE_X86_64 62
#define ELF_COUNT_ELSEWHERE 0xffff /* the true number of program headers is in a section header */

#define PT_LOAD 1u
#define PT_INTERP 3u
#define PT_GNU_STACK 0x6474e551u

struct elf_header {
    uint8_t magic[4];
    uint8_t class;
    uint8_t data;
    uint8_t ident_version;
    uint8_t abi;
    uint8_t padding[8];
    uint16_t type;
    uint16_t machine;
    uint32_t version;
    uint64_t entry;
    uint64_t program_offset; /* of the program headers in the file */
    uint64_t section_offset;
    uint32_t flags;
    uint16_t header_size;
    uint16_t program_entry_size;
    uint16_t program_count;
    uint16_t section_entry_size;
    uint16_t section_count;
    uint16_t section_names;
};

struct elf_program_header {
    uint32_t type;
    uint32_t flags; /* the same bits as ELF_READ, ELF_WRITE, ELF_EXEC */
    uint64_t offset;
    uint64_t address;
    uint64_t physical;
    uint64_t file_size;
    uint64_t memory_size;
    uint64_t align;
};

_Static_assert(sizeof(struct elf_header) == 64, "ELF64 header");
_Static_assert(sizeof(struct elf_program_header) == 56, "ELF64 program header");

static uint64_t page_down(uint64_t address)
{
    return address & ~(PAGE_SIZE - 1);
}

static uint64_t page_up(uint64_t address)
{
    return page_down(address + PAGE_SIZE - 1);
}

static int check_header(const struct elf_header *header, size_t size)
{
    if (memcmp(header->magic, "\177ELF", 4) != 0 || header->class != ELF_CLASS_64 || header->data != ELF_DATA_LITTLE ||
        header->ident_version != ELF_VERSION)
        return -ENOEXEC;
    if (header->abi != ELF_ABI_SYSV && header->abi != ELF_ABI_GNU)
        return -ENOEXEC;
    if (header->type != ELF_TYPE_EXEC && header->type != ELF_TYPE_DYN)
        return -ENOEXEC;
    if (header->machine != ELF_MACHINE_X86_64 || header->version != ELF_VERSION ||
        header->header_size < sizeof(*header) || header->program_entry_size != sizeof(struct elf_program_header) ||
        header->program_count == ELF_COUNT_ELSEWHERE)
        return -ENOEXEC;
    uint64_t table_size = (uint64_t)header->program_count * sizeof(struct elf_program_header);
    if (header->program_offset > size || table_size > size - header->program_offset)
        return -ENOEXEC;
    return 0;
}

/* Checks a loadable program header by itself and against the previous segment, then appends the segment. */
static int add_segment(const struct elf_program_header *program, size_t size, struct elf_image *out)
{
    if (program->file_size > program->memory_size || program->offset > size ||
        program->file_size > size - program->offset)
        return -ENOEXEC;
    if (program->address > ADDRESS_END || program->memory_size > ADDRESS_END - program->address)
        return -ENOEXEC;
    if (program->align & (program->align - 1))
        return -ENOEXEC;
    if ((program->address - program->offset) % PAGE_SIZE != 0)
        return -ENOEXEC;
    if (program->memory_size == 0)
        return 0;

    uint32_t flags = program->flags & (ELF_READ | ELF_WRITE | ELF_EXEC);
    if (out->segment_count == 0) {
        if (!out->position_independent && program->address < PAGE_SIZE)
            return -ENOEXEC;
        out->low = page_down(program->address);
    } else {
        const struct elf_segment *before = &out->segments[out->segment_count - 1];
        uint64_t end = before->address + before->memory_size;
        if (program->address < end)
            return -ENOEXEC;
        if (page_down(program->address) < page_up(end) && flags != before->flags)
            return -ENOEXEC;
    }
    if (out->segment_count == ELF_SEGMENTS_MAX)
        return -E2BIG;
    out->segments[out->segment_count++] = (struct elf_segment){
        .address = program->address,
        .memory_size = program->memory_size,
        .file_offset = program->offset,
        .file_size = program->file_size,
        .flags = flags,
    };
    out->high = page_up(program->address + program->memory_size);
    return 0;
}

static bool entry_executable(const struct elf_image *image)
{
    for (uint32_t i = 0; i < image->segment_count; i++) {
        const struct elf_segment *segment = &image->segments[i];
        if ((segment->flags & ELF_EXEC) && image->entry >= segment->address &&
            image->entry - segment->address < segment->memory_size)
            return true;
    }
    return false;
}

/* The address of the program headers in memory: programs find their TLS template through AT_PHDR. */
static uint64_t find_header_address(const struct elf_image *image, uint64_t offset, uint64_t size)
{
    for (uint32_t i = 0; i < image->segment_count; i++) {
        const struct elf_segment *segment = &image->segments[i];
        if (offset >= segment->file_offset && offset - segment->file_offset <= segment->file_size &&
            size <= segment->file_size - (offset - segment->file_offset))
            return segment->address + (offset - segment->file_offset);
    }
    return 0;
}

const uint8_t *elf_file_at(const struct elf_file *file, uint64_t offset, size_t size, size_t *count)
{
    size_t within = offset % file->piece_size;

    *count = size < file->piece_size - within ? size : file->piece_size - within;
    return file->pieces[offset / file->piece_size] + within;
}

void elf_file_read(const struct elf_file *file, uint64_t offset, void *out, size_t size)
{
    uint8_t *to = out;
    size_t count;

    for (; size > 0; size -= count) {
        const uint8_t *from = elf_file_at(file, offset, size, &count);

        memcpy(to, from, count);
        to += count;
        offset += count;
    }
}

static int read_header(const struct elf_file *file, struct elf_header *header)
{
    if (file->size < sizeof(*header))
        return -ENOEXEC;
    elf_file_read(file, 0, header, sizeof(*header));
    return check_header(header, file->size);
}

static void read_program(const struct elf_file *file, const struct elf_header *header, uint32_t number,
                         struct elf_program_header *program)
{
    elf_file_read(file, header->program_offset + number * sizeof(*program), program, sizeof(*program));
}

size_t elf_file_used(const struct elf_file *file)
{
    size_t first = file->size < file->piece_size ? file->size : file->piece_size;
    struct elf_header header;
    struct elf_program_header program;
    size_t used = first;

    if (first < sizeof(header) || read_header(file, &header) != 0)
        return first; /* elf_parse needs no more than this piece to refuse the file */
    if (header.program_offset > first || header.program_count * sizeof(program) > first - header.program_offset)
        return file->size;
    for (uint32_t i = 0; i < header.program_count; i++) {
        read_program(file, &header, i, &program);
        if ((program.type != PT_LOAD && program.type != PT_INTERP) || program.offset > file->size ||
            program.file_size > file->size - program.offset)
            continue;
        if (program.offset + program.file_size > used)
            used = program.offset + program.file_size;
    }
    return used;
}

int elf_interpreter(const struct elf_file *file, char *name, size_t room)
{
    struct elf_header header;
    struct elf_program_header program;
    int error = read_header(file, &header);

    for (uint32_t i = 0; error == 0 && i < header.program_count; i++) {
        read_program(file, &header, i, &program);
        if (program.type != PT_INTERP)
            continue;
        if (program.file_size < 2 || program.file_size > room || program.offset > file->size ||
            program.file_size > file->size - program.offset)
            return -ENOEXEC;
        elf_file_read(file, program.offset, name, program.file_size);
        return name[program.file_size - 1] == '\0' ? 0 : -ENOEXEC;
    }
    return error != 0 ? error : -ENOENT;
}

int elf_parse(const struct elf_file *file, struct elf_image *out)
{
    struct elf_header header;
    int error = read_header(file, &header);

    memset(out, 0, sizeof(*out));
    if (error)
        return error;
    out->position_independent = header.type == ELF_TYPE_DYN;
    out->entry = header.entry;
    out->header_entry_size = header.program_entry_size;
    out->header_count = header.program_count;

    for (uint32_t i = 0; i < header.program_count; i++) {
        struct elf_program_header program;
        read_program(file, &header, i, &program);
        if (program.type == PT_INTERP)
            return -ENOEXEC;
        if (program.type == PT_GNU_STACK)
            out->executable_stack = program.flags & ELF_EXEC;
        if (program.type != PT_LOAD)
            continue;
        error = add_segment(&program, file->size, out);
        if (error)
            return error;
    }
    if (!entry_executable(out))
        return -ENOEXEC;
    out->header_address = find_header_address(out, header.program_offset,
                                              header.program_count * sizeof(struct elf_program_header));
    return 0;
}
