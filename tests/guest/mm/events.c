/* What a kernel has counted of the caller's memory. See the header. */
#include "tests/guest/mm/events.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/guest/harness/tap.h"

static char text[65536];

/* Reads the report at PATH into TEXT, which is empty if there is none. */
static void read_report(const char *path)
{
    int file = open(path, O_RDONLY);
    size_t length = 0;
    ssize_t more;

    while (file >= 0 && (more = read(file, text + length, sizeof(text) - 1 - length)) > 0)
        length += (size_t)more;
    if (file >= 0)
        close(file);
    text[length] = '\0';
}

unsigned long events_of(int kernel, const char *name)
{
    char start[48];
    const char *at;
    const char *end;

    read_report("/proc/self/kettle");
    snprintf(start, sizeof(start), "\nevents %d ", kernel);
    at = strstr(text, start);
    if (at == NULL)
        return 0;
    at += strlen(start) - 1; /* the blank before the first name */
    end = strchr(at, '\n');
    snprintf(start, sizeof(start), " %s=", name);
    at = strstr(at, start);
    return at != NULL && (end == NULL || at < end) ? strtoul(at + strlen(start), NULL, 10) : 0;
}

long events_reported(const char *path, const char *word)
{
    long sum = 0;

    read_report(path);
    for (const char *found = strstr(text, word); found != NULL; found = strstr(found + 1, word))
        sum += strtol(found + strlen(word), NULL, 10);
    return sum;
}

unsigned long events_everywhere(const char *name)
{
    int kernels[64];
    int count = tap_kernels(kernels);
    unsigned long sum = 0;

    for (int i = 0; i < count; i++)
        sum += events_of(kernels[i], name);
    return sum;
}
