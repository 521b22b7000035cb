/* /proc/kettle/messages as tables. See the header; msg/report.c writes the lines. */
#include "userland/message_table.h"

#include <stdio.h>
#include <string.h>

#define LINE_SIZE 512
#define MICROSECONDS 1000.0

enum section { NOTHING, TYPES, RINGS, TOTALS };

static void begin(enum section *section, enum section wanted, unsigned kernel)
{
    if (*section == wanted)
        return;
    *section = wanted;
    if (wanted == TYPES) {
        printf("\nkernel %-14u %39s %10s %27s %27s\n", kernel, "messages", "bytes", "us in the ring",
               "us in the handler");
        printf("  %-21s %9s %9s %10s %10s %9s %9s %9s %9s %9s %9s\n", "type", "sent", "received", "out", "in", "p50",
               "p99", "max", "p50", "p99", "max");
    } else if (wanted == RINGS) {
        printf("  rings of %u%30s %17s\n", kernel, "ordinary", "urgent");
        printf("  %-21s %9s %7s %9s %7s\n", "from kernel", "slots", "most", "slots", "most");
    }
}

static int print_type(const char *line, enum section *section)
{
    unsigned long sent, received, out, in, q50, q99, qmax, h50, h99, hmax;
    unsigned kernel;
    char type[32];
    int fields = sscanf(
        line,
        "kernel %u %31s sent %lu received %lu bytes out %lu in %lu queued p50 %lu p99 %lu max %lu handled "
        "p50 %lu p99 %lu max %lu",
        &kernel, type, &sent, &received, &out, &in, &q50, &q99, &qmax, &h50, &h99, &hmax);

    if (fields < 6)
        return 0;
    begin(section, TYPES, kernel);
    printf("  %-21s %9lu %9lu %10lu %10lu", type, sent, received, out, in);
    if (fields == 12)
        printf(" %9.2f %9.2f %9.2f %9.2f %9.2f %9.2f", q50 / MICROSECONDS, q99 / MICROSECONDS, qmax / MICROSECONDS,
               h50 / MICROSECONDS, h99 / MICROSECONDS, hmax / MICROSECONDS);
    putchar('\n');
    return 1;
}

static int print_ring(const char *line, enum section *section)
{
    unsigned long ordinary, ordinary_most, urgent, urgent_most;
    unsigned kernel, from;

    if (sscanf(line, "kernel %u from %u ordinary %lu most %lu urgent %lu most %lu", &kernel, &from, &ordinary,
               &ordinary_most, &urgent, &urgent_most) != 6)
        return 0;
    begin(section, RINGS, kernel);
    printf("  %-21u %9lu %7lu %9lu %7lu\n", from, ordinary, ordinary_most, urgent, urgent_most);
    return 1;
}

/* "kernel K doorbells ...": without the kernel, which the table above has named. */
static int print_totals(const char *line, enum section *section)
{
    unsigned kernel;
    int start = 0;

    if (sscanf(line, "kernel %u doorbells %n", &kernel, &start) != 1 || start == 0)
        return 0;
    begin(section, TOTALS, kernel);
    printf("  doorbells %s\n", line + start);
    return 1;
}

void message_table_print(const char *text)
{
    enum section section = NOTHING;

    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        char line[LINE_SIZE];

        snprintf(line, sizeof(line), "%.*s", (int)(length < LINE_SIZE ? length : LINE_SIZE - 1), text);
        if (!print_ring(line, &section) && !print_totals(line, &section) && !print_type(line, &section))
            puts(line);
        text += length + (text[length] == '\n');
    }
}
