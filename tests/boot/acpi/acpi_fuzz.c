/* Any bytes as firmware tables, the RSDP first. Most mutations get their checksums repaired, else nothing behind them
 * would be reached.
 * sources: boot/acpi/acpi.c boot/acpi/tables.c boot/acpi/madt.c boot/acpi/srat.c boot/acpi/slit.c
 * runs: 60000
 * flags: -max_len=1024 */
#include "boot/acpi/acpi.h"
#include "kernel/abi/errno.h"
#include "tests/boot/acpi/check.h"
#include "tests/fuzz/fuzz.h"

static void require_line(void *context, const char *text)
{
    (void)context;
    REQUIRE(text[0] && strlen(text) < 128);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct acpi_report report = {.line = require_line};
    static struct acpi_topology topology;
    static struct fuzz_memory window;
    struct physmem memory = fuzz_memory(&window, data, size);

    int error = acpi_discover(&memory, FUZZ_BASE, &report, &topology);
    REQUIRE(error == 0 || error == -ENOENT || error == -E2BIG);
    if (error != -E2BIG) {
        const char *fault = acpi_check(&topology, error);
        if (fault)
            fprintf(stderr, "%s\n", fault);
        REQUIRE(!fault);
    }
    fuzz_memory_free(&window);
    return 0;
}

static uint64_t get(const uint8_t *data, size_t size, size_t at, size_t bytes)
{
    uint64_t value = 0;

    if (at < size && bytes <= size - at)
        memcpy(&value, data + at, bytes);
    return value;
}

static void repair(uint8_t *data, size_t size, uint64_t at, uint64_t length, uint64_t checksum)
{
    uint8_t sum = 0;

    if (at > size || length > size - at || checksum >= length)
        return;
    data[at + checksum] = 0;
    for (uint64_t i = 0; i < length; i++)
        sum = (uint8_t)(sum + data[at + i]);
    data[at + checksum] = (uint8_t)-sum;
}

static void repair_root(uint8_t *data, size_t size, uint64_t root, size_t entry_size)
{
    uint64_t at = root - FUZZ_BASE;
    uint64_t length = get(data, size, at + 4, 4);

    for (uint64_t i = 36; i < length && i < 36 + 16 * entry_size; i += entry_size) {
        uint64_t table = get(data, size, at + i, entry_size) - FUZZ_BASE;
        repair(data, size, table, get(data, size, table + 4, 4), 9);
    }
    repair(data, size, at, length, 9);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    uint64_t random = seed * 0x9e3779b97f4a7c15u;

    /* Half of the time only a byte of a table changes, which the general mutations seldom do alone. */
    if (size > 64 && seed % 2 == 0)
        data[64 + (random >> 16) % (size - 64)] = (uint8_t)(random >> 56 & (seed % 4 == 0 ? 0xff : 0x1f));
    else
        size = LLVMFuzzerMutate(data, size, max_size);
    if (seed % 32 != 1 && size >= 36) {
        memcpy(data, "RSD PTR ", 8);
        repair_root(data, size, get(data, size, 16, 4), 4);
        if (data[15] >= 2)
            repair_root(data, size, get(data, size, 24, 8), 8);
        repair(data, size, 0, 20, 8);
        repair(data, size, 0, get(data, size, 20, 4), 32);
    }
    return size;
}
