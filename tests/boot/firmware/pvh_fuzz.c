/* Any bytes as memory with a PVH start structure at its beginning.
 * sources: boot/firmware/pvh.c boot/firmware/bootinfo.c
 * runs: 600000 */
#include "boot/firmware/pvh.h"
#include "tests/boot/firmware/bootinfo_check.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct bootinfo info;
    static struct fuzz_memory window;
    struct physmem memory = fuzz_memory(&window, data, size);

    memset(&info, 0xa5, sizeof(info));
    bootinfo_check(&info, pvh_parse(&memory, FUZZ_BASE, &info));
    fuzz_memory_free(&window);
    return 0;
}
