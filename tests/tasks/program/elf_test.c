/* The executable decoder on files built here and by the compilers of this machine, and on damaged ones.
 * sources: tasks/program/elf.c */
#include "tasks/program/elf.h"

#include <elf.h>
#include <stdlib.h>
#include <unistd.h>

#include "kernel/abi/errno.h"
#include "tests/test.h"

#define TOP 0x7ffffffff000u

static struct {
    Elf64_Ehdr header;
    Elf64_Phdr programs[20];
    char content[0x3000];
} file;

static size_t file_size;
static struct elf_image image;

/* A small program: text with the headers, data with a bss behind it, a stack note. */
static void begin(void)
{
    static const Elf64_Ehdr header = {
        .e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT, ELFOSABI_SYSV},
        .e_type = ET_EXEC,
        .e_machine = EM_X86_64,
        .e_version = EV_CURRENT,
        .e_entry = 0x401000,
        .e_phoff = sizeof(Elf64_Ehdr),
        .e_ehsize = sizeof(Elf64_Ehdr),
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = 3,
    };

    memset(&file, 0, sizeof(file));
    file.header = header;
    file.programs[0] = (Elf64_Phdr){.p_type = PT_LOAD,
                                    .p_flags = PF_R | PF_X,
                                    .p_offset = 0,
                                    .p_vaddr = 0x400000,
                                    .p_filesz = 0x1800,
                                    .p_memsz = 0x1800,
                                    .p_align = 0x1000};
    file.programs[1] = (Elf64_Phdr){.p_type = PT_LOAD,
                                    .p_flags = PF_R | PF_W,
                                    .p_offset = 0x1800,
                                    .p_vaddr = 0x402800,
                                    .p_filesz = 0x400,
                                    .p_memsz = 0x1000,
                                    .p_align = 0x1000};
    file.programs[2] = (Elf64_Phdr){.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W, .p_align = 16};
    file_size = 0x2000;
}

/* Parses from allocations of exactly the file's size, in pieces of PIECE bytes but the last; what is behind the last
 * that counts is not there. */
static int parse_pieces(size_t piece)
{
    uint8_t *pieces[sizeof(file) / 512 + 1] = {NULL};
    struct elf_file whole = {(const uint8_t *const *)pieces, piece, file_size};
    size_t used = piece;
    int error;

    for (size_t i = 0; i * piece < used; i++) {
        size_t size = file_size - i * piece < piece ? file_size - i * piece : piece;

        pieces[i] = malloc(size > 0 ? size : 1);
        memcpy(pieces[i], (uint8_t *)&file + i * piece, size);
        if (i == 0)
            used = elf_file_used(&whole);
    }
    memset(&image, 0xa5, sizeof(image));
    error = elf_parse(&whole, &image);
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++)
        free(pieces[i]);
    return error;
}

static int parse(void)
{
    return parse_pieces(file_size > 0 ? file_size : 1);
}

/* What a loader relies on, whatever the file was. */
static void check_image(void)
{
    bool entry_found = false;

    CHECK(image.segment_count > 0 && image.segment_count <= ELF_SEGMENTS_MAX);
    CHECK(image.low % 4096 == 0 && image.high % 4096 == 0);
    CHECK(image.low < image.high && image.high <= TOP);
    for (uint32_t i = 0; i < image.segment_count; i++) {
        const struct elf_segment *segment = &image.segments[i];
        CHECK(segment->memory_size > 0 && segment->memory_size >= segment->file_size);
        CHECK(segment->file_offset <= file_size && segment->file_size <= file_size - segment->file_offset);
        CHECK(segment->address >= image.low && segment->memory_size <= image.high - segment->address);
        CHECK(i == 0 || segment->address >= segment[-1].address + segment[-1].memory_size);
        entry_found |= segment->flags & ELF_EXEC && image.entry >= segment->address &&
                       image.entry - segment->address < segment->memory_size;
    }
    CHECK(entry_found);
}

TEST(plain, "a fixed executable: its segments, entry, span, and where its program headers are")
{
    begin();
    CHECK_EQ(parse(), 0);
    check_image();
    CHECK(!image.position_independent && !image.executable_stack);
    CHECK_EQ(image.entry, 0x401000);
    CHECK_EQ(image.segment_count, 2);
    CHECK_EQ(image.segments[0].address, 0x400000);
    CHECK_EQ(image.segments[0].flags, ELF_READ | ELF_EXEC);
    CHECK_EQ(image.segments[1].file_offset, 0x1800);
    CHECK_EQ(image.segments[1].file_size, 0x400);
    CHECK_EQ(image.segments[1].memory_size, 0x1000);
    CHECK_EQ(image.segments[1].flags, ELF_READ | ELF_WRITE);
    CHECK_EQ(image.low, 0x400000);
    CHECK_EQ(image.high, 0x404000);
    CHECK_EQ(image.header_address, 0x400040);
    CHECK_EQ(image.header_count, 3);
    CHECK_EQ(image.header_entry_size, 56);
}

TEST(pieces, "a file may be in pieces, and those behind what a loader reads may be missing")
{
    static const size_t sizes[] = {512, 4096, 1000};
    struct elf_image whole;

    begin();
    CHECK_EQ(parse(), 0);
    whole = image;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        CHECK_EQ(parse_pieces(sizes[i]), 0);
        CHECK(memcmp(&image, &whole, sizeof(image)) == 0);
    }
    begin();
    memcpy(file.content + 0x1800, file.programs, sizeof(file.programs)); /* behind the segments, across pieces */
    file.header.e_phoff = (uint64_t)(file.content + 0x1800 - (char *)&file);
    CHECK_EQ(parse(), 0);
    whole = image;
    CHECK_EQ(parse_pieces(512), 0);
    CHECK(memcmp(&image, &whole, sizeof(image)) == 0);
    begin();
    file.header.e_ident[EI_CLASS] = ELFCLASS32;
    CHECK_EQ(parse_pieces(512), -ENOEXEC);
    file_size = 20;
    CHECK_EQ(parse_pieces(512), -ENOEXEC);
}

TEST(bytes, "bytes of a file come from as many pieces as they lie in")
{
    const uint8_t *pieces[] = {(const uint8_t *)"abc", (const uint8_t *)"def", (const uint8_t *)"g"};
    struct elf_file text = {pieces, 3, 7};
    char out[8] = "";
    size_t count;

    elf_file_read(&text, 1, out, 6);
    CHECK(memcmp(out, "bcdefg", 6) == 0);
    CHECK_EQ(*elf_file_at(&text, 4, 3, &count), 'e');
    CHECK_EQ(count, 2);
    elf_file_at(&text, 4, 1, &count);
    CHECK_EQ(count, 1);
}

TEST(pie, "a static PIE may start at address 0 and is marked; a fixed executable may not use page 0")
{
    begin();
    file.header.e_entry -= 0x400000;
    file.programs[0].p_vaddr -= 0x400000;
    file.programs[1].p_vaddr -= 0x400000;
    CHECK_EQ(parse(), -ENOEXEC);
    file.header.e_type = ET_DYN;
    CHECK_EQ(parse(), 0);
    CHECK(image.position_independent);
    CHECK_EQ(image.low, 0);
    CHECK_EQ(image.header_address, 0x40);
}

TEST(lowest_address, "a fixed executable may start at page 1, and at its entry point")
{
    begin();
    file.programs[0].p_vaddr = 0x1000;
    file.header.e_entry = 0x1000;
    CHECK_EQ(parse(), 0);
    CHECK_EQ(image.low, 0x1000);
}

TEST(headers_elsewhere, "program headers are found in memory in whichever segment loads all of them")
{
    begin();
    memcpy((char *)&file + 0x1800, file.programs, 3 * sizeof(Elf64_Phdr));
    file.header.e_phoff = 0x1800;
    file.programs[0].p_filesz = 0x1800;
    CHECK_EQ(parse(), 0);
    CHECK_EQ(image.header_address, 0x402800);
    memcpy((char *)&file + 0x1810, file.programs, 3 * sizeof(Elf64_Phdr));
    file.header.e_phoff = 0x1810;
    CHECK_EQ(parse(), 0);
    CHECK_EQ(image.header_address, 0x402810);
    memcpy((char *)&file + 0x17f0, file.programs, 3 * sizeof(Elf64_Phdr));
    file.header.e_phoff = 0x17f0; /* over the end of one and into the other */
    CHECK_EQ(parse(), 0);
    CHECK_EQ(image.header_address, 0);
}

TEST(stack_note, "an executable stack is reported when the file asks for one")
{
    begin();
    file.programs[2].p_flags |= PF_X;
    CHECK_EQ(parse(), 0);
    CHECK(image.executable_stack);
    file.header.e_phnum = 2;
    CHECK_EQ(parse(), 0);
    CHECK(!image.executable_stack);
}

TEST(glibc_mark, "static glibc's GNU mark is accepted, another system's is not")
{
    begin();
    file.header.e_ident[EI_OSABI] = ELFOSABI_GNU;
    CHECK_EQ(parse(), 0);
    file.header.e_ident[EI_OSABI] = ELFOSABI_FREEBSD;
    CHECK_EQ(parse(), -ENOEXEC);
}

TEST(foreign, "other classes, byte orders, machines, versions and types are refused")
{
#define REFUSED(change)                                                                                                \
    begin();                                                                                                           \
    change;                                                                                                            \
    CHECK_EQ(parse(), -ENOEXEC)
    REFUSED(file.header.e_ident[0] = 'E');
    REFUSED(file.header.e_ident[3] = 'f');
    REFUSED(file.header.e_ident[EI_CLASS] = ELFCLASS32);
    REFUSED(file.header.e_ident[EI_DATA] = ELFDATA2MSB);
    REFUSED(file.header.e_ident[EI_VERSION] = 0);
    REFUSED(file.header.e_machine = EM_AARCH64);
    REFUSED(file.header.e_machine = EM_386);
    REFUSED(file.header.e_version = 2);
    REFUSED(file.header.e_type = ET_REL);
    REFUSED(file.header.e_type = ET_CORE);
    REFUSED(file.header.e_ehsize = 63);
    REFUSED(file.header.e_phentsize = 32);
    REFUSED(file.header.e_phnum = 0);
    REFUSED(file.header.e_phnum = PN_XNUM; file.header.e_phoff = 0);
}

TEST(interpreter, "a program that needs an interpreter is refused")
{
    begin();
    file.header.e_phnum = 4;
    file.programs[3] = (Elf64_Phdr){.p_type = PT_INTERP, .p_offset = 0x1000, .p_filesz = 28};
    CHECK_EQ(parse(), -ENOEXEC);
}

TEST(interpreter_name, "the interpreter's name is read when it is whole")
{
    const uint8_t *bytes = (const uint8_t *)&file;
    struct elf_file whole = {&bytes, sizeof(file), 0x2000};
    Elf64_Phdr *program = &file.programs[3];
    char name[16];

    begin();
    CHECK_EQ(elf_interpreter(&whole, name, sizeof(name)), -ENOENT);
    file.header.e_phnum = 4;
    *program = (Elf64_Phdr){.p_type = PT_INTERP, .p_offset = 0x1ff6, .p_filesz = 10};
    memcpy((char *)&file + 0x1ff6, "/lib/ld.so", 11);
    CHECK_EQ(elf_interpreter(&whole, name, sizeof(name)), -ENOEXEC);
    memcpy((char *)&file + 0x1ff6, "/lib/l.so", 10);
    CHECK_EQ(elf_interpreter(&whole, name, sizeof(name)), 0);
    CHECK(strcmp(name, "/lib/l.so") == 0);
    CHECK_EQ(elf_interpreter(&whole, name, 9), -ENOEXEC);
    program->p_offset++;
    CHECK_EQ(elf_interpreter(&whole, name, sizeof(name)), -ENOEXEC);
    program->p_offset = UINT64_MAX;
    CHECK_EQ(elf_interpreter(&whole, name, sizeof(name)), -ENOEXEC);
}

TEST(header_bounds, "program headers that end outside the file are refused, at its very end taken")
{
    begin();
    file.header.e_phoff = file_size - 3 * sizeof(Elf64_Phdr);
    memcpy((char *)&file + file.header.e_phoff, file.programs, 3 * sizeof(Elf64_Phdr));
    CHECK_EQ(parse(), 0);
    CHECK_EQ(image.header_address, 0); /* in the file behind the segments, so not loaded */
    file.header.e_phoff++;
    CHECK_EQ(parse(), -ENOEXEC);
    file.header.e_phoff = file_size + 1;
    CHECK_EQ(parse(), -ENOEXEC);
    file.header.e_phoff = UINT64_MAX - 100;
    CHECK_EQ(parse(), -ENOEXEC);
}

TEST(segment_bounds, "segments outside the file, larger in it than in memory, or that wrap are refused")
{
    REFUSED(file.programs[1].p_filesz = 0x801);
    REFUSED(file.programs[1].p_offset = 0x2000; file.programs[1].p_vaddr = 0x403000);
    REFUSED(file.programs[1].p_offset = UINT64_MAX - 0x7ff);
    REFUSED(file.programs[1].p_memsz = 0x3ff);
    REFUSED(file.programs[1].p_memsz = UINT64_MAX);
    REFUSED(file.programs[1].p_filesz = UINT64_MAX; file.programs[1].p_memsz = UINT64_MAX);
    REFUSED(file.programs[1].p_vaddr = UINT64_MAX - 0x7ff);
    REFUSED(file.programs[1].p_vaddr = TOP - 0x800; file.programs[1].p_memsz = 0x801);
    REFUSED(file.programs[1].p_vaddr = TOP + 0x800);
    begin();
    file.programs[1].p_vaddr = TOP - 0x800;
    file.programs[1].p_memsz = 0x800;
    CHECK_EQ(parse(), 0);
    CHECK_EQ(image.high, TOP);
}

TEST(segment_order, "segments out of order, overlapping, or sharing a page under other flags are refused")
{
    REFUSED(file.programs[1].p_vaddr = 0x3ff800);
    REFUSED(file.programs[1].p_vaddr = 0x400800);
    REFUSED(file.programs[0].p_memsz = 0x2801);
    REFUSED(file.programs[0].p_memsz = 0x2001);
    begin();
    file.programs[0].p_memsz = 0x2000;
    CHECK_EQ(parse(), 0);
    begin();
    file.programs[1].p_vaddr = 0x401800;
    CHECK_EQ(parse(), -ENOEXEC);
    file.programs[1].p_flags = PF_R | PF_X;
    CHECK_EQ(parse(), 0);
    file.programs[0].p_memsz = 0x1801;
    CHECK_EQ(parse(), -ENOEXEC);
}

TEST(segment_alignment, "an address and a file offset that differ within a page, and an odd alignment, are refused")
{
    REFUSED(file.programs[1].p_vaddr++);
    REFUSED(file.programs[1].p_align = 3);
    begin();
    file.programs[1].p_align = 0;
    CHECK_EQ(parse(), 0);
    file.programs[1].p_align = 0x200000; /* larger than the page: what the linker wishes, not what it needs */
    CHECK_EQ(parse(), 0);
}

TEST(empty_segment, "an empty segment is left out; a file without any other is refused")
{
    begin();
    file.programs[1].p_filesz = 0;
    file.programs[1].p_memsz = 0;
    CHECK_EQ(parse(), 0);
    CHECK_EQ(image.segment_count, 1);
    CHECK_EQ(image.high, 0x402000);
    file.programs[0].p_type = PT_NULL;
    CHECK_EQ(parse(), -ENOEXEC);
}

TEST(entry_point, "an entry point outside every executable segment is refused")
{
    REFUSED(file.header.e_entry = 0x3fffff);
    REFUSED(file.header.e_entry = 0x401800);
    REFUSED(file.header.e_entry = 0x402900);
    REFUSED(file.header.e_entry = 0);
    begin();
    file.header.e_entry = 0x4017ff;
    CHECK_EQ(parse(), 0);
}

TEST(segment_limit, "as many segments as there is room for are taken, one more is -E2BIG")
{
    begin();
    for (int i = 2; i <= ELF_SEGMENTS_MAX; i++) {
        file.programs[i] = file.programs[1];
        file.programs[i].p_vaddr += (uint64_t)i * 0x10000;
    }
    file.header.e_phnum = ELF_SEGMENTS_MAX;
    CHECK_EQ(parse(), 0);
    CHECK_EQ(image.segment_count, ELF_SEGMENTS_MAX);
    file.header.e_phnum++;
    CHECK_EQ(parse(), -E2BIG);
}

TEST(cut, "a file cut at any byte is refused until its last segment is whole")
{
    begin();
    for (size_t size = 0; size <= 0x2000; size++) {
        file_size = size;
        CHECK_EQ(parse(), size < 0x1c00 ? -ENOEXEC : 0);
    }
}

TEST(flipped, "any bit of the headers changed: refused, or an image a loader can rely on")
{
    begin();
    for (size_t at = 0; at < (sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr)) * 8; at++) {
        ((uint8_t *)&file)[at / 8] ^= (uint8_t)(1 << at % 8);
        int error = parse();
        CHECK(error == 0 || error == -ENOEXEC);
        if (!error)
            check_image();
        ((uint8_t *)&file)[at / 8] ^= (uint8_t)(1 << at % 8);
    }
}

static uint8_t program[8 << 20];

/* Builds a C program with COMMAND and decodes it. -1: this machine has no such compiler. */
static int parse_built(const char *command)
{
    char folder[] = "/tmp/elf-test-XXXXXX";
    char text[512];

    CHECK(mkdtemp(folder));
    snprintf(text, sizeof(text), "cd %s && echo 'int main(void) { return 0; }' >p.c && %s -o p p.c 2>/dev/null", folder,
             command);
    bool built = system(text) == 0;
    snprintf(text, sizeof(text), "%s/p", folder);
    FILE *built_file = fopen(text, "rb");
    file_size = built_file ? fread(program, 1, sizeof(program), built_file) : 0;
    if (built_file)
        fclose(built_file);
    unlink(text);
    snprintf(text, sizeof(text), "%s/p.c", folder);
    unlink(text);
    rmdir(folder);
    const uint8_t *bytes = program;
    return built ? elf_parse(&(struct elf_file){&bytes, sizeof(program), file_size}, &image) : -1;
}

TEST(compilers, "static programs of musl and glibc are taken, fixed and PIE; dynamic ones are refused")
{
    static const struct {
        const char *command;
        int result;
        bool pie;
    } builds[] = {
        {"musl-gcc -static -no-pie", 0, false},
        {"gcc -static -no-pie", 0, false},
        {"gcc -static-pie -fPIE", 0, true},
        {"gcc -static -Wl,-z,noseparate-code", 0, false},
        {"gcc -no-pie", -ENOEXEC, false},
        {"gcc -pie -fPIE", -ENOEXEC, false},
        {"gcc -c", -ENOEXEC, false},
    };

    for (size_t i = 0; i < sizeof(builds) / sizeof(builds[0]); i++) {
        int result = parse_built(builds[i].command);
        if (result == -1) {
            printf("# not built here: %s\n", builds[i].command);
            continue;
        }
        if (result != builds[i].result)
            printf("# %s\n", builds[i].command);
        CHECK_EQ(result, builds[i].result);
        if (result)
            continue;
        check_image();
        CHECK_EQ(image.position_independent, builds[i].pie);
        CHECK(image.header_address != 0);
    }
}
