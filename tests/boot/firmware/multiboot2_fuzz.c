/* Any bytes as a multiboot2 information structure.
 * sources: boot/firmware/multiboot2.c boot/firmware/bootinfo.c
 * runs: 600000 */
#include "boot/firmware/multiboot2.h"
#include "tests/boot/firmware/bootinfo_check.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct bootinfo info;
    static struct fuzz_memory window;
    struct physmem memory = fuzz_memory(&window, data, size);

    memset(&info, 0xa5, sizeof(info));
    int error = multiboot2_parse(&memory, FUZZ_BASE, &info);
    bootinfo_check(&info, error);
    if (!error && info.rsdp)
        REQUIRE(info.rsdp >= FUZZ_BASE + 16 && info.rsdp + 20 <= FUZZ_BASE + size);
    fuzz_memory_free(&window);
    return 0;
}
