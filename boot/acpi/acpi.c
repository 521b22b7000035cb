/* Topology discovery: combines the tables into one struct acpi_topology (see acpi.h). tables.c finds the tables;
 * madt.c, srat.c and slit.c each read one of them; this file handles missing and invalid tables. */
#include "boot/acpi/acpi.h"

#include "boot/acpi/internal.h"
#include "kernel/abi/errno.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"

#define LAPIC_ADDRESS_DEFAULT 0xfee00000ULL
#define REPORT_LINE_MAX 128

void acpi_say(const struct acpi_report *report, const char *format, ...)
{
    char text[REPORT_LINE_MAX];
    va_list args;

    if (!report || !report->line)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    report->line(report->context, text);
}

/* Puts all CPUs on one node, without memory. */
static void set_one_node(struct acpi_topology *out)
{
    out->node_count = 1;
    out->domain[0] = 0;
    out->memory_count = 0;
    for (uint32_t i = 0; i < out->cpu_count; i++)
        out->cpus[i].node = 0;
}

static void set_default_distances(struct acpi_topology *out)
{
    for (uint32_t from = 0; from < NODES_MAX; from++) {
        for (uint32_t to = 0; to < NODES_MAX; to++)
            out->distance[from][to] = from == to ? ACPI_DISTANCE_LOCAL : ACPI_DISTANCE_REMOTE;
    }
}

static void reset(struct acpi_topology *out)
{
    memset(out, 0, sizeof(*out));
    out->lapic_address = LAPIC_ADDRESS_DEFAULT;
    set_one_node(out);
    set_default_distances(out);
}

static int read_tables(const struct acpi_tables *tables, const struct acpi_report *report, struct acpi_topology *out)
{
    if (!tables->madt.bytes) {
        acpi_say(report, "no usable MADT");
        return -ENOENT;
    }
    int error = acpi_read_madt(&tables->madt, report, out);
    if (error)
        return error == -EINVAL ? -ENOENT : error;

    if (tables->srat.bytes) {
        error = acpi_read_srat(&tables->srat, report, out);
        if (error == -E2BIG)
            return error;
        out->srat_used = error == 0;
        if (error)
            set_one_node(out);
    }
    if (tables->slit.bytes) {
        if (out->srat_used)
            out->slit_used = acpi_read_slit(&tables->slit, report, out) == 0;
        else
            acpi_say(report, "SLIT ignored: no SRAT says what its rows are");
    }
    return 0;
}

int acpi_discover(const struct physmem *memory, uint64_t rsdp, const struct acpi_report *report,
                  struct acpi_topology *out)
{
    struct acpi_tables tables;

    reset(out);
    int error = acpi_find_tables(memory, rsdp, report, &tables);
    if (!error)
        error = read_tables(&tables, report, out);
    if (error == -ENOENT)
        reset(out);
    return error;
}
