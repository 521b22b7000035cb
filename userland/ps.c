/* ps: lists the processes of the machine, or their threads, from /proc. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userland/help.h"
#include "userland/kernel_cpus.h"
#include "userland/proc_file.h"

#define LISTED_MAX 65536
#define COMMAND_MAX 80

static const char usage[] = "usage: ps [-T]\n"
                            "\n"
                            "Lists all processes, with -T all threads. KERNEL is the one the (first) thread runs on,\n"
                            "TIME what it has computed in minutes, seconds and hundredths.\n";

static int kernels[KERNEL_CPUS_MAX]; /* of each CPU */
static bool threads;

static int number_compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* The names in directory PATH that are numbers, ascending. Returns how many, or -1 with errno set; the caller frees
 * *NUMBERS. */
static int numbers_list(const char *path, int **numbers)
{
    DIR *directory = opendir(path);
    struct dirent *entry;
    int count = 0;

    *numbers = malloc(LISTED_MAX * sizeof(int));
    if (directory == NULL || *numbers == NULL) {
        free(*numbers);
        *numbers = NULL;
        if (directory != NULL)
            closedir(directory);
        return -1;
    }
    while ((entry = readdir(directory)) != NULL && count < LISTED_MAX) {
        char *end;
        long number = strtol(entry->d_name, &end, 10);

        if (*end == '\0' && end != entry->d_name && number > 0)
            (*numbers)[count++] = (int)number;
    }
    closedir(directory);
    qsort(*numbers, (size_t)count, sizeof(int), number_compare);
    return count;
}

/* What is told of one thread or process. */
struct line {
    int pid, tid, parent, group, session, cpu;
    char state;
    unsigned long ticks;
    char command[COMMAND_MAX];
};

/* Reads a file of the form of /proc/PID/stat. False when there is none any more. */
static bool stat_read(const char *path, struct line *line)
{
    char *text = proc_file_read(path);
    char *name = text == NULL ? NULL : strchr(text, '(');
    char *rest = text == NULL ? NULL : strrchr(text, ')');
    unsigned long user = 0;
    unsigned long system = 0;
    bool good;

    if (name == NULL || rest == NULL || rest < name) {
        free(text);
        return false;
    }
    *rest++ = '\0';
    snprintf(line->command, COMMAND_MAX, "[%s]", name + 1);
    line->tid = atoi(text);
    good = sscanf(rest, " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &line->state, &line->parent, &line->group,
                  &line->session, &user, &system) == 6;
    line->ticks = user + system;
    line->cpu = -1;
    /* The CPU is field 39; behind the name comes the third. */
    for (int field = 3; field < 39 && rest != NULL; field++)
        rest = strchr(rest + 1, ' ');
    if (rest != NULL)
        line->cpu = atoi(rest);
    free(text);
    return good;
}

/* The arguments, if there are any: a process of the kernel has a name only. */
static void command_read(int pid, char command[COMMAND_MAX])
{
    char path[64];
    char text[COMMAND_MAX];
    FILE *file;
    size_t size = 0;

    snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
    file = fopen(path, "r");
    if (file != NULL) {
        size = fread(text, 1, sizeof(text) - 1, file);
        fclose(file);
    }
    while (size > 0 && text[size - 1] == '\0')
        size--;
    if (size == 0)
        return;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < ' ' || text[i] == 127)
            text[i] = ' ';
    }
    text[size] = '\0';
    memcpy(command, text, size + 1);
}

static void line_print(const struct line *line, long hertz)
{
    unsigned long hundredths = line->ticks * 100 / (unsigned long)hertz;
    char kernel[16] = "-";

    if (line->cpu >= 0 && line->cpu < KERNEL_CPUS_MAX && kernels[line->cpu] >= 0)
        snprintf(kernel, sizeof(kernel), "%d", kernels[line->cpu]);
    printf("%7d ", line->pid);
    if (threads)
        printf("%7d ", line->tid);
    printf("%7d %7d %7d %-4c %6s %4lu:%02lu.%02lu %s\n", line->parent, line->group, line->session, line->state, kernel,
           hundredths / 6000, hundredths / 100 % 60, hundredths % 100, line->command);
}

static void process_print(int pid, long hertz)
{
    struct line line = {.pid = pid};
    char path[96];
    int *tids = NULL;
    int count = 1;

    if (threads) {
        snprintf(path, sizeof(path), "/proc/%d/task", pid);
        count = numbers_list(path, &tids);
    }
    for (int i = 0; i < count; i++) {
        int tid = tids == NULL ? pid : tids[i];

        snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
        /* What has ended since the directory was read is not listed. */
        if (!stat_read(path, &line))
            continue;
        if (!threads) {
            /* The time of all threads. */
            int cpu = line.cpu;

            snprintf(path, sizeof(path), "/proc/%d/stat", pid);
            if (!stat_read(path, &line))
                continue;
            line.cpu = cpu;
        }
        command_read(pid, line.command);
        line_print(&line, hertz);
    }
    free(tids);
}

int main(int argc, char **argv)
{
    long hertz = sysconf(_SC_CLK_TCK);
    int *pids = NULL;
    int count;

    if (help_asked(argc, argv, usage))
        return 0;
    threads = argc == 2 && strcmp(argv[1], "-T") == 0;
    if (argc > 1 && !threads) {
        fputs(usage, stderr);
        return 2;
    }
    kernel_cpus_read(kernels);
    count = numbers_list("/proc", &pids);
    if (count < 0) {
        fprintf(stderr, "ps: cannot read /proc: %s\n", strerror(errno));
        return 1;
    }
    printf("    PID %s   PPID    PGID     SID STAT KERNEL       TIME COMMAND\n", threads ? "    TID " : "");
    for (int i = 0; i < count; i++)
        process_print(pids[i], hertz > 0 ? hertz : 100);
    free(pids);
    return 0;
}
