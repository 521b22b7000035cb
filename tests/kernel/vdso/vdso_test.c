/* The shared object of [vdso], build/vdso/vdso.so: what loaders and C libraries look for in it, and that its code works
 * from the page before it alone, wherever it is. */
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include "kernel/vdso/data.h"
#include "tests/test.h"

#define PAGE 4096
#define SECOND 1000000000ll

static uint8_t *pages; /* data and code */
static size_t size;    /* of the file */

static const Elf64_Ehdr *begin(void)
{
    struct vdso_data *data;
    int fd;

    if (pages == NULL) {
        pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        fd = open("build/vdso/vdso.so", O_RDONLY);
        CHECK(pages != MAP_FAILED && fd >= 0);
        size = (size_t)read(fd, pages + PAGE, PAGE);
        CHECK(read(fd, &fd, 1) == 0); /* no more than a page */
        close(fd);
        CHECK(mprotect(pages + PAGE, PAGE, PROT_READ | PROT_EXEC) == 0);
    }
    data = (struct vdso_data *)(void *)pages;
    *data = (struct vdso_data){.usable = 1, .multiplier = 1ull << 32, .epoch = 7 * SECOND};
    return (const Elf64_Ehdr *)(const void *)(pages + PAGE);
}

static const Elf64_Phdr *part(const Elf64_Ehdr *header, uint32_t type)
{
    const Elf64_Phdr *parts = (const Elf64_Phdr *)(const void *)((const uint8_t *)header + header->e_phoff);

    for (int i = 0; i < header->e_phnum; i++) {
        if (parts[i].p_type == type)
            return &parts[i];
    }
    return NULL;
}

static const void *entry(const Elf64_Ehdr *header, int64_t tag)
{
    const Elf64_Dyn *at = (const Elf64_Dyn *)(const void *)((const uint8_t *)header +
                                                            part(header, PT_DYNAMIC)->p_offset);

    for (; at->d_tag != DT_NULL; at++) {
        if (at->d_tag == tag)
            return (const uint8_t *)header + at->d_un.d_ptr;
    }
    return NULL;
}

static const Elf64_Sym *find(const Elf64_Ehdr *header, const char *name, uint16_t *version)
{
    const Elf64_Sym *symbols = entry(header, DT_SYMTAB);
    const char *strings = entry(header, DT_STRTAB);
    const uint32_t *hash = entry(header, DT_HASH);
    const uint16_t *versions = entry(header, DT_VERSYM);

    CHECK(symbols != NULL && strings != NULL && hash != NULL && versions != NULL);
    for (uint32_t i = 1; i < hash[1]; i++) {
        if (strcmp(strings + symbols[i].st_name, name) == 0) {
            *version = versions[i] & 0x7fff;
            return &symbols[i];
        }
    }
    return NULL;
}

TEST(object, "it is a shared object of one loaded page at 0 that needs no relocation and writes nothing")
{
    const Elf64_Ehdr *header = begin();
    const Elf64_Phdr *loaded = part(header, PT_LOAD);

    CHECK(memcmp(header->e_ident, ELFMAG, SELFMAG) == 0);
    CHECK_EQ(header->e_type, ET_DYN);
    CHECK_EQ(header->e_machine, EM_X86_64);
    CHECK(loaded != NULL && part(header, PT_DYNAMIC) != NULL && part(header, PT_NOTE) != NULL);
    CHECK_EQ(loaded->p_vaddr, 0);
    CHECK_EQ(loaded->p_offset, 0);
    CHECK(loaded->p_memsz <= size && (loaded->p_flags & PF_W) == 0);
    CHECK(entry(header, DT_RELA) == NULL && entry(header, DT_REL) == NULL && entry(header, DT_PLTGOT) == NULL);
    CHECK(entry(header, DT_GNU_HASH) != NULL);
}

TEST(names, "it exports the five functions, with and without prefix, in version LINUX_2.6")
{
    static const char *const names[] = {"clock_gettime", "gettimeofday", "time", "getcpu", "clock_getres"};
    const Elf64_Ehdr *header = begin();
    const Elf64_Verdef *definition = entry(header, DT_VERDEF);
    const char *strings = entry(header, DT_STRTAB);
    uint16_t linux_version = 0;

    CHECK(definition != NULL);
    for (;;) {
        const Elf64_Verdaux *name = (const Elf64_Verdaux *)(const void *)((const uint8_t *)definition +
                                                                          definition->vd_aux);

        if (strcmp(strings + name->vda_name, "LINUX_2.6") == 0)
            linux_version = definition->vd_ndx;
        if (definition->vd_next == 0)
            break;
        definition = (const Elf64_Verdef *)(const void *)((const uint8_t *)definition + definition->vd_next);
    }
    CHECK(linux_version != 0);
    for (int i = 0; i < 5; i++) {
        char full[40];
        uint16_t version = 0, alias_version = 0;
        const Elf64_Sym *symbol, *alias = find(header, names[i], &alias_version);

        snprintf(full, sizeof(full), "__vdso_%s", names[i]);
        symbol = find(header, full, &version);
        CHECK(symbol != NULL && alias != NULL);
        CHECK(symbol->st_value == alias->st_value && symbol->st_value > 0 && symbol->st_value < size);
        CHECK_EQ(ELF64_ST_TYPE(symbol->st_info), STT_FUNC);
        CHECK_EQ(ELF64_ST_BIND(symbol->st_info), STB_GLOBAL);
        CHECK_EQ(version, linux_version);
        CHECK_EQ(alias_version, linux_version);
    }
}

static int (*gettime(void))(clockid_t, struct timespec *)
{
    uint16_t version;
    const Elf64_Ehdr *header = begin();

    return (int (*)(clockid_t, struct timespec *))(uintptr_t)(pages + PAGE +
                                                              find(header, "__vdso_clock_gettime", &version)->st_value);
}

TEST(reads, "with one nanosecond a count the clock is the counter, and the day so much more")
{
    int (*read_clock)(clockid_t, struct timespec *) = gettime();
    struct vdso_data *data = (struct vdso_data *)(void *)pages;
    struct timespec time;
    int64_t before, now, after;

    data->base = __rdtsc() - 5 * SECOND;
    for (int i = 0; i < 1000; i++) {
        before = (int64_t)(__rdtsc() - data->base);
        CHECK_EQ(read_clock(i % 2 == 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME, &time), 0);
        after = (int64_t)(__rdtsc() - data->base);
        CHECK(time.tv_nsec >= 0 && time.tv_nsec < SECOND);
        now = time.tv_sec * SECOND + time.tv_nsec - (i % 2 == 0 ? 0 : 7 * SECOND);
        CHECK(before <= now && now <= after);
    }
}

TEST(fraction, "counts are multiplied in more than 64 bits")
{
    int (*read_clock)(clockid_t, struct timespec *) = gettime();
    struct vdso_data *data = (struct vdso_data *)(void *)pages;
    uint64_t count, least, most;
    struct timespec time;

    data->base = __rdtsc() - (1ull << 60); /* nine years at 4 GHz */
    data->multiplier = (1ull << 31) + 12345;
    count = __rdtsc() - data->base;
    least = (uint64_t)((unsigned __int128)count * data->multiplier >> 32);
    CHECK_EQ(read_clock(CLOCK_BOOTTIME, &time), 0);
    most = (uint64_t)((unsigned __int128)(__rdtsc() - data->base) * data->multiplier >> 32);
    CHECK((uint64_t)time.tv_sec >= least / SECOND && (uint64_t)time.tv_sec <= most / SECOND);
}

TEST(asks, "what it cannot tell it asks the kernel: other clocks, and all when the counters differ")
{
    int (*read_clock)(clockid_t, struct timespec *) = gettime();
    struct vdso_data *data = (struct vdso_data *)(void *)pages;
    struct timespec time = {0}, same;

    CHECK_EQ(read_clock(CLOCK_PROCESS_CPUTIME_ID, &time), 0);
    CHECK_EQ(read_clock(77, &time), -22);
    data->usable = 0;
    CHECK_EQ(clock_gettime(CLOCK_MONOTONIC, &same), 0);
    CHECK_EQ(read_clock(CLOCK_MONOTONIC, &time), 0);
    CHECK(time.tv_sec - same.tv_sec >= 0 && time.tv_sec - same.tv_sec < 1000);
}
