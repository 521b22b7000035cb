/* The System Locality Information Table (ACPI 6.4, 5.2.17): a square matrix of distances, its rows and columns numbered
 * by proximity domain. Rows of domains that the SRAT does not mention are ignored. */
#include "boot/acpi/internal.h"
#include "kernel/abi/errno.h"
#include "kernel/lib/string.h"

#define SLIT_COUNT_FIELD 36 /* offset of the 64-bit number of rows */
#define SLIT_MATRIX 44      /* offset of the first distance */

/* Returns NULL or a description of the error. *COUNT is the number of rows. */
static const char *check_matrix(const struct acpi_table *slit, const struct acpi_topology *topology, uint64_t *count)
{
    if (slit->length < SLIT_MATRIX)
        return "bad length";
    memcpy(count, slit->bytes + SLIT_COUNT_FIELD, sizeof(*count));
    uint64_t entries = slit->length - SLIT_MATRIX;
    if (*count > entries || *count * *count != entries)
        return "bad length";
    if (topology->domain[topology->node_count - 1] >= *count)
        return "fewer rows than SRAT has domains";
    for (uint64_t row = 0; row < *count; row++) {
        for (uint64_t column = 0; column < *count; column++) {
            uint8_t distance = slit->bytes[SLIT_MATRIX + row * *count + column];
            if (row == column && distance != ACPI_DISTANCE_LOCAL)
                return "a node not 10 from itself";
            if (distance < ACPI_DISTANCE_LOCAL)
                return "a distance below 10";
        }
    }
    return NULL;
}

int acpi_read_slit(const struct acpi_table *slit, const struct acpi_report *report, struct acpi_topology *out)
{
    uint64_t count;
    const char *fault = check_matrix(slit, out, &count);

    if (fault) {
        acpi_say(report, "SLIT ignored: %s", fault);
        return -EINVAL;
    }
    for (uint32_t from = 0; from < out->node_count; from++) {
        for (uint32_t to = 0; to < out->node_count; to++)
            out->distance[from][to] = slit->bytes[SLIT_MATRIX + out->domain[from] * count + out->domain[to]];
    }
    return 0;
}
