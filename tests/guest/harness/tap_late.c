/* What is told of a test that waits for what does not come. tests/guest/harness/tap.h is the contract.
 *
 * Nothing here uses malloc or stdio's streams, since any thread may give up anywhere, also in a signal handler. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/tap_internal.h"

#define TELLING (INT64_C(10) * 1000000000) /* ns that the telling may take: what hangs may be what is asked */
#define LINES 300                          /* that are printed at most */

struct entry { /* of getdents64(2) */
    uint64_t inode;
    int64_t offset;
    unsigned short size;
    unsigned char type;
    char name[];
};

static char text[32768]; /* of one file: the teller is a process of its own */
static int lines;

/* Reads as much of /proc/PID/NAME as fits into TEXT. Returns whether there was any. */
static bool read_file(int pid, const char *name)
{
    char path[64];
    size_t size = 0;
    ssize_t more = 1;
    int file;

    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    file = open(path, O_RDONLY);
    if (file < 0)
        return false;
    while (size < sizeof(text) - 1 && (more = read(file, text + size, sizeof(text) - 1 - size)) > 0)
        size += (size_t)more;
    close(file);
    text[size] = '\0';
    return size > 0;
}

static void tell_line(const char *name, int parent, const char *line)
{
    if (lines++ < LINES)
        tap_note("waits: %s of %d: %s", name, parent, line);
}

/* Cuts TEXT's line at LINE off and returns where the next one begins. */
static char *cut_line(char *line)
{
    char *end = line + strcspn(line, "\n");

    if (*end != '\0')
        *end++ = '\0';
    return end;
}

/* Prints who PID is, where it is at home, where each of its threads is and what it waits for, and which signals are
 * pending. */
static void tell_process(int pid)
{
    int parent = 0;
    const char *end;
    char name[32];

    if (!read_file(pid, "stat") || (end = strrchr(text, ')')) == NULL)
        return;
    snprintf(name, sizeof(name), "%.*s", (int)(end + 1 - text), text);
    sscanf(end + 1, " %*c %d", &parent);
    if (!read_file(pid, "kettle"))
        return;
    for (char *line = text, *next; *line != '\0'; line = next) {
        next = cut_line(line);
        if (strncmp(line, "home ", 5) == 0 || strncmp(line, "thread ", 7) == 0)
            tell_line(name, parent, line);
    }
    if (!read_file(pid, "status"))
        return;
    for (char *line = text, *next; *line != '\0'; line = next) {
        next = cut_line(line);
        if ((strncmp(line, "SigPnd:", 7) == 0 || strncmp(line, "ShdPnd:", 7) == 0) &&
            line[7 + strcspn(line + 7, "123456789abcdef")] != '\0')
            tell_line(name, parent, line);
    }
}

static _Noreturn void tell(void)
{
    int directory = open("/proc", O_RDONLY | O_DIRECTORY);
    _Alignas(struct entry) char entries[2048];
    long size;

    while (directory >= 0 && (size = syscall(SYS_getdents64, directory, entries, sizeof(entries))) > 0) {
        for (long at = 0; at < size;) {
            const struct entry *entry = (const struct entry *)(entries + at);
            int pid = atoi(entry->name);

            if (pid > 1 && pid != getpid())
                tell_process(pid);
            at += entry->size;
        }
    }
    _exit(0);
}

void tap_say_waits(void)
{
    int64_t begin = tap_time();
    long teller;

    if (!tap_on_kettle() || atomic_exchange(&tap_report->told, true))
        return;
    teller = syscall(SYS_fork);
    if (teller == 0)
        tell();
    while (teller > 0 && waitpid((pid_t)teller, NULL, WNOHANG) == 0) {
        if (tap_time() - begin >= TELLING) {
            tap_note("waits: no answer in %d s", (int)(TELLING / 1000000000));
            kill((pid_t)teller, SIGKILL);
            return;
        }
        sched_yield();
    }
}

void tap_late(const char *file, int line, const char *condition, const char *what)
{
    tap_broken(file, line, condition, "still waiting for %s", what);
    tap_result_of_end(); /* before what may hang */
    tap_say_waits();
    tap_stop();
}
