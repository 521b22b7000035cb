/* Tables of which a test discovers the topology, and what is reported. */
#ifndef TESTS_DISCOVER_H
#define TESTS_DISCOVER_H

#include "boot/acpi/acpi.h"
#include "kernel/abi/errno.h"
#include "tests/boot/acpi/build.h"
#include "tests/boot/acpi/check.h"
#include "tests/boot/physical.h"
#include "tests/test.h"

static struct physical machine;
static struct acpi_topology found;
static char report_text[8192];

static inline void note(void *context, const char *text)
{
    (void)context;
    size_t used = strlen(report_text);
    snprintf(report_text + used, sizeof(report_text) - used, "%s\n", text);
}

static const struct acpi_report reporter = {.line = note};

static inline int discover(uint64_t rsdp)
{
    struct physmem memory = physical_memory(&machine);

    report_text[0] = '\0';
    memset(&found, 0xa5, sizeof(found));
    int error = acpi_discover(&memory, rsdp, &reporter, &found);
    if (error != -E2BIG) {
        const char *fault = acpi_check(&found, error);
        if (fault)
            printf("# %s\n", fault);
        CHECK(!fault);
    }
    return error;
}

static inline int discover_capture(const char *path)
{
    physical_free(&machine);
    physical_load(&machine, path);
    return discover(machine.pieces[0].base);
}

/* Builds tables in a fresh machine: parts that are NULL stay away. */
static inline int discover_built(struct table *madt, struct table *srat, struct table *slit)
{
    struct table *tables[] = {madt, srat, slit};

    physical_free(&machine);
    return discover(build_machine(&machine, 2, tables, 3));
}

static inline void expect_report(const char *text)
{
    if (!strstr(report_text, text))
        printf("# the report is:\n# %s", report_text);
    CHECK(strstr(report_text, text));
}

static inline void expect_nothing_reported(void)
{
    CHECK_TEXT(report_text, "");
}

static inline struct table madt_of(uint32_t cpus)
{
    struct table madt = madt_start(0xfee00000);

    for (uint32_t i = 0; i < cpus; i++)
        madt_lapic(&madt, i, i, 1);
    return madt;
}

/* Captured tables. */

#endif
