/* The files under /proc/kettle, for reading by people. userland/proc_file.h is the contract. */
#include "userland/proc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userland/message_table.h"

#define COLUMNS_MAX 48

struct proc_file {
    const char *name;
    void (*print)(const char *text);
    const char *empty; /* what to say when there is nothing in it */
};

static void print_plainly(const char *text);
static void print_columns(const char *text);

static const struct proc_file proc_files[] = {
    {"plan", print_plainly, "no plan"},
    {"kernels", print_columns, "no kernels"},
    {"messages", message_table_print, "no message was sent"},
    {"trace", print_plainly, "no message was traced"},
    {"objects", print_columns, "no kernels"},
    {"allocations", print_plainly, "no place has allocated while alloc= was set"},
    {"strategies", print_plainly, "no strategies"},
    {"syscalls", print_columns, "every system call so far was answered"},
};

char *proc_file_read(const char *path)
{
    size_t size = 0;
    size_t room = 4096;
    char *text = malloc(room);
    int file = open(path, O_RDONLY);
    ssize_t count = -1;

    while (text != NULL && file >= 0) {
        count = read(file, text + size, room - size - 1);
        if (count <= 0)
            break;
        size += (size_t)count;
        if (room - size < 2) {
            char *more = realloc(text, room *= 2);

            if (more == NULL)
                free(text);
            text = more;
        }
    }
    if (file >= 0) {
        int error = errno;

        close(file);
        errno = error;
    }
    if (text != NULL && count == 0) {
        text[size] = '\0';
        return text;
    }
    free(text);
    return NULL;
}

static const struct proc_file *proc_file_find(const char *name)
{
    for (size_t i = 0; i < sizeof(proc_files) / sizeof(proc_files[0]); i++) {
        if (strcmp(proc_files[i].name, name) == 0)
            return &proc_files[i];
    }
    return NULL;
}

bool proc_file_exists(const char *name)
{
    return proc_file_find(name) != NULL;
}

/* Length of the field at TEXT, which blanks or the line's end close. */
static size_t field_length(const char *text)
{
    return strcspn(text, " \t\n");
}

/* Calls print, or measures when print is false, for every field of TEXT. */
static void columns_walk(const char *text, size_t widths[COLUMNS_MAX], bool print)
{
    while (*text != '\0') {
        size_t column = 0;

        text += strspn(text, " \t");
        for (; *text != '\n' && *text != '\0'; column++) {
            size_t length = field_length(text);
            size_t slot = column < COLUMNS_MAX ? column : COLUMNS_MAX - 1;
            bool number = text[0] >= '0' && text[0] <= '9';
            char next = text[length + strspn(text + length, " \t")];
            bool last = next == '\n' || next == '\0';

            if (!print)
                widths[slot] = length > widths[slot] ? length : widths[slot];
            else if (number)
                printf("%*.*s%s", (int)widths[slot], (int)length, text, last ? "" : "  ");
            else if (last)
                printf("%.*s", (int)length, text);
            else
                printf("%-*.*s  ", (int)widths[slot], (int)length, text);
            text += length;
            text += strspn(text, " \t");
        }
        if (print)
            putchar('\n');
        if (*text == '\n')
            text++;
    }
}

static void print_plainly(const char *text)
{
    fputs(text, stdout);
}

/* Fields separated by blanks, aligned. */
static void print_columns(const char *text)
{
    size_t widths[COLUMNS_MAX] = {0};

    columns_walk(text, widths, false);
    columns_walk(text, widths, true);
}

bool proc_file_print(const char *name, const char *program)
{
    const struct proc_file *file = proc_file_find(name);
    char path[64];
    char *text;

    snprintf(path, sizeof(path), "/proc/kettle/%s", name);
    text = proc_file_read(path);
    if (text == NULL) {
        fprintf(stderr, "%s: cannot read %s: %s\n", program, path, strerror(errno));
        return false;
    }
    if (file == NULL)
        print_plainly(text);
    else if (text[0] == '\0')
        puts(file->empty);
    else
        file->print(text);
    free(text);
    return true;
}
