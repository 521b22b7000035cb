/* Any bytes as an executable: refused, or an image that a loader can rely on.
 * sources: tasks/program/elf.c
 * runs: 1000000 */
#include "kernel/abi/errno.h"
#include "tasks/program/elf.h"
#include "tests/fuzz/fuzz.h"

#define PAGE 4096u

static void check_segment(const struct elf_image *image, uint32_t number, size_t size)
{
    const struct elf_segment *segment = &image->segments[number];
    uint64_t end = segment->address + segment->memory_size;

    REQUIRE(segment->memory_size > 0 && segment->memory_size >= segment->file_size);
    REQUIRE(segment->file_offset <= size && segment->file_size <= size - segment->file_offset);
    REQUIRE(end > segment->address && segment->address >= image->low && end <= image->high);
    REQUIRE((segment->address - segment->file_offset) % PAGE == 0);
    REQUIRE((segment->flags & ~(ELF_READ | ELF_WRITE | ELF_EXEC)) == 0);
    if (number > 0) {
        const struct elf_segment *before = segment - 1;
        uint64_t before_end = before->address + before->memory_size;
        REQUIRE(segment->address >= before_end);
        REQUIRE(segment->flags == before->flags || segment->address / PAGE > (before_end - 1) / PAGE);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct elf_image image;
    int error = elf_parse(&(struct elf_file){&data, size > 0 ? size : 1, size}, &image);

    REQUIRE(error == 0 || error == -ENOEXEC || error == -E2BIG);
    if (error)
        return 0;
    bool entry_found = false;
    bool headers_found = image.header_address == 0 || image.position_independent;
    REQUIRE(image.segment_count > 0 && image.segment_count <= ELF_SEGMENTS_MAX);
    REQUIRE(image.low % PAGE == 0 && image.high % PAGE == 0 && image.high <= 0x7ffffffff000);
    REQUIRE(image.position_independent || image.low > 0);
    for (uint32_t i = 0; i < image.segment_count; i++) {
        const struct elf_segment *segment = &image.segments[i];
        check_segment(&image, i, size);
        entry_found |= (segment->flags & ELF_EXEC) && image.entry >= segment->address &&
                       image.entry - segment->address < segment->memory_size;
        headers_found |= image.header_address >= segment->address &&
                         image.header_address + image.header_count * image.header_entry_size <=
                             segment->address + segment->file_size;
    }
    REQUIRE(entry_found && headers_found);
    return 0;
}
