/* Messages counted by type. See the header; msg/report.c writes the lines, a line for each type on each kernel. */
#include "userland/bench/message_counts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PART 4096
#define LINE_SIZE 128 /* of the beginning of a line, which is all that is read */

/* The row of NAME; rows are looked for from *AT on, since all kernels write them in the same order. NULL: no room. */
static uint64_t *row_of(struct message_counts *counts, const char *name, size_t *at)
{
    for (size_t i = 0; i < counts->count; i++) {
        size_t index = (*at + i) % counts->count;

        if (strcmp(counts->rows[index].name, name) == 0) {
            *at = index + 1;
            return &counts->rows[index].sent;
        }
    }
    if (counts->count == MESSAGE_COUNTS_MAX)
        return NULL;
    *at = 0;
    strcpy(counts->rows[counts->count].name, name);
    counts->rows[counts->count].sent = 0;
    return &counts->rows[counts->count++].sent;
}

/* "kernel 3 SPACE_FETCH sent 12 ...": types are in capitals, all else is not. */
static bool line_take(struct message_counts *counts, const char *line, size_t *at)
{
    char name[MESSAGE_NAME_SIZE];
    uint64_t sent;
    uint64_t *row;

    if (sscanf(line, "kernel %*u %39s sent %" SCNu64, name, &sent) != 2 || name[0] < 'A' || name[0] > 'Z')
        return true;
    row = row_of(counts, name, at);
    if (row != NULL)
        *row += sent;
    return row != NULL;
}

bool message_counts_read(struct message_counts *counts)
{
    int file = open("/proc/kettle/messages", O_RDONLY);
    char part[PART];
    char line[LINE_SIZE];
    size_t length = 0;
    size_t at = 0;
    ssize_t got = 0;
    bool room = true;

    counts->count = 0;
    if (file < 0)
        return false;
    while (room && (got = read(file, part, sizeof(part))) > 0) {
        for (ssize_t i = 0; i < got && room; i++) {
            if (part[i] != '\n') {
                if (length < sizeof(line) - 1)
                    line[length++] = part[i];
                continue;
            }
            line[length] = '\0';
            length = 0;
            room = line_take(counts, line, &at);
        }
    }
    close(file);
    if (!room)
        errno = ENOSPC;
    return room && got == 0;
}

static bool is_reading(const char *name)
{
    return strncmp(name, "FILE_", 5) == 0 || strncmp(name, "NAME_", 5) == 0 || strncmp(name, "REPORT", 6) == 0;
}

void message_counts_since(struct message_counts *now, const struct message_counts *before)
{
    size_t kept = 0;

    for (size_t i = 0; i < now->count; i++) {
        uint64_t sent = now->rows[i].sent;

        for (size_t j = 0; j < before->count; j++) {
            if (strcmp(before->rows[j].name, now->rows[i].name) == 0)
                sent -= before->rows[j].sent;
        }
        if (sent == 0 || is_reading(now->rows[i].name))
            continue;
        now->rows[kept] = now->rows[i];
        now->rows[kept++].sent = sent;
    }
    now->count = kept;
}

void message_counts_json(const struct message_counts *counts)
{
    putchar('{');
    for (size_t i = 0; i < counts->count; i++)
        printf("%s\"%s\": %" PRIu64, i == 0 ? "" : ", ", counts->rows[i].name, counts->rows[i].sent);
    putchar('}');
}
