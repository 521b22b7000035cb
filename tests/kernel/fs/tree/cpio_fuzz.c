/* Any bytes as an initramfs: every entry lies inside the archive, and reading ends.
 * sources: kernel/fs/tree/cpio.c
 * runs: 600000 */
#include "kernel/abi/errno.h"
#include "kernel/fs/tree/cpio.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cpio_entry entry;
    size_t offset = 0;
    uint64_t sum = 0;

    for (;;) {
        size_t before = offset;
        int result = cpio_next(data, size, &offset, &entry);
        if (result != 1) {
            REQUIRE(result == 0 ? offset == size : result == -EINVAL && offset == before);
            break;
        }
        const uint8_t *name = (const uint8_t *)entry.name;
        const uint8_t *content = entry.data;
        REQUIRE(offset > before && offset <= size);
        REQUIRE(name > data && name < data + size && strlen(entry.name) < CPIO_NAME_MAX);
        REQUIRE(name[0] != '/' && strncmp(entry.name, "./", 2) != 0);
        REQUIRE(content > name && entry.size <= (size_t)(data + size - content));
        for (uint64_t i = 0; i < entry.size; i++)
            sum += content[i];
    }
    return sum == 1 ? 0 : 0;
}
