/* filebench: what small operations on a file cost, by where the process and its thread are; on Kettle and on Linux.
 *
 * A place is a kernel of Kettle or a CPU of Linux. Regular files and names are kernel 0's, where the program begins:
 *
 *   NAME.local  the process is at home there
 *   NAME.away   so it is, and the calling thread is on another node
 *   NAME.far    the process began on another node, and its thread is there
 *   NAME.third  the same, and its thread is on a third kernel
 *   NAME.near   the same, and its thread is with the file
 *
 * Each row runs in a process of its own, forked where it is to be at home. Regions for counting instructions
 * (userland/bench/mark.h) lie around each operation. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userland/bench/bench_measure.h"
#include "userland/bench/bench_place.h"
#include "userland/bench/bench_program.h"
#include "userland/bench/message_counts.h"
#include "userland/x86.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define MANY 128
#define WARM_UP 4
#define SMALL 100 /* bytes */

static const char usage[] =
    "usage: filebench [--cases LIST] [--count N] [--quick] [--json]\n"
    "       filebench --list\n"
    "\n"
    "Measures small operations on a file of /tmp: p50 and p99 in us, or with --json one object a line for each, with "
    "all\n"
    "samples in ns and, between kernels, the messages that all operations of the row have sent.\n"
    "\n"
    "  --cases LIST  names or patterns, comma-separated: write100.*,*.far\n"
    "  --list        the names, with their regions for counting instructions\n"
    "  --count N     operations of each case (default 128)\n"
    "  --quick       a quarter of the default\n"
    "  --json        one object a line\n";

/* Seen from kernel 0, or the first CPU. */
enum setting { SETTING_LOCAL, SETTING_AWAY, SETTING_FAR, SETTING_THIRD, SETTING_NEAR, SETTINGS };

static const char *const setting_words[SETTINGS] = {"local", "away", "far", "third", "near"};

struct operation {
    const char *name;
    long (*run)(int fd); /* at least 0, or a negative errno */
};

struct file_case {
    struct bench_row row;
    const struct operation *operation;
    enum setting setting;
};

/* What the process of a row tells. */
static struct {
    atomic_int outcome; /* its errno; -1: it has not ended by itself */
    bool read;
    struct message_counts base, before, after;
} * shared;

static struct file_case cases[BENCH_ROWS_MAX];
static const char path[] = "/tmp/filebench";
static char page[BENCH_PAGE];

/* --- the operations --- */

static long nothing(int fd)
{
    (void)fd;
    return 0;
}

static long read_small(int fd)
{
    return x86_syscall3(SYS_read, fd, (long)page, SMALL);
}

static long write_small(int fd)
{
    return x86_syscall3(SYS_write, fd, (long)page, SMALL);
}

static long pread_small(int fd)
{
    return x86_syscall(SYS_pread64, fd, (long)page, SMALL, BENCH_PAGE, 0, 0);
}

static long pwrite_small(int fd)
{
    return x86_syscall(SYS_pwrite64, fd, (long)page, SMALL, BENCH_PAGE, 0, 0);
}

static long pread_512(int fd)
{
    return x86_syscall(SYS_pread64, fd, (long)page, 512, BENCH_PAGE, 0, 0);
}

static long pwrite_512(int fd)
{
    return x86_syscall(SYS_pwrite64, fd, (long)page, 512, BENCH_PAGE, 0, 0);
}

static long pread_page(int fd)
{
    return x86_syscall(SYS_pread64, fd, (long)page, BENCH_PAGE, BENCH_PAGE, 0, 0);
}

static long pwrite_page(int fd)
{
    return x86_syscall(SYS_pwrite64, fd, (long)page, BENCH_PAGE, BENCH_PAGE, 0, 0);
}

static long seek(int fd)
{
    return x86_syscall3(SYS_lseek, fd, BENCH_PAGE, SEEK_SET);
}

static long facts(int fd)
{
    struct stat out;

    return x86_syscall(SYS_newfstatat, fd, (long)"", (long)&out, AT_EMPTY_PATH, 0, 0);
}

static long name_facts(int fd)
{
    struct stat out;

    (void)fd;
    return x86_syscall(SYS_newfstatat, AT_FDCWD, (long)path, (long)&out, 0, 0, 0);
}

static long name_missing(int fd)
{
    (void)fd;
    return x86_syscall3(SYS_faccessat, AT_FDCWD, (long)"/tmp/filebench-journal", F_OK) == -ENOENT ? 0 : -EPROTO;
}

static long open_close(int fd)
{
    long other = x86_syscall(SYS_openat, AT_FDCWD, (long)path, O_RDWR, 0, 0, 0);

    (void)fd;
    return other < 0 ? other : x86_syscall1(SYS_close, other);
}

static long make_remove(int fd)
{
    long other = x86_syscall(SYS_openat, AT_FDCWD, (long)"/tmp/filebench-new", O_RDWR | O_CREAT, 0600, 0, 0);

    (void)fd;
    if (other >= 0)
        other = x86_syscall1(SYS_close, other);
    return other < 0 ? other : x86_syscall3(SYS_unlinkat, AT_FDCWD, (long)"/tmp/filebench-new", 0);
}

static long lock_unlock(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_start = 64, .l_len = 1};
    long result = x86_syscall3(SYS_fcntl, fd, F_SETLK, (long)&lock);

    lock.l_type = F_UNLCK;
    return result != 0 ? result : x86_syscall3(SYS_fcntl, fd, F_SETLK, (long)&lock);
}

static long cut(int fd)
{
    return x86_syscall3(SYS_ftruncate, fd, 4L * BENCH_PAGE, 0);
}

static long sync_file(int fd)
{
    return x86_syscall1(SYS_fsync, fd);
}

static long link_unlink(int fd)
{
    static const char other[] = "/tmp/filebench.link";
    long error = x86_syscall3(SYS_link, (long)path, (long)other, 0);

    (void)fd;
    return error != 0 ? error : x86_syscall1(SYS_unlink, (long)other);
}

/* Maps one page of the file, shared, and unmaps it; WRITE: writes to it before. */
static long map_page(int fd, bool write)
{
    long address = x86_syscall(SYS_mmap, 0, BENCH_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (address < 0)
        return address;
    if (write)
        *(volatile char *)address = 1;
    return x86_syscall3(SYS_munmap, address, BENCH_PAGE, 0);
}

static long map_only(int fd)
{
    return map_page(fd, false);
}

static long map_write(int fd)
{
    return map_page(fd, true);
}

static const struct operation operations[] = {
    {"empty", nothing},
    {"read100", read_small},
    {"write100", write_small},
    {"pread100", pread_small},
    {"pwrite100", pwrite_small},
    {"pread512", pread_512},
    {"pwrite512", pwrite_512},
    {"pread4096", pread_page},
    {"pwrite4096", pwrite_page},
    {"lseek", seek},
    {"fstat", facts},
    {"stat", name_facts},
    {"access_none", name_missing},
    {"open_close", open_close},
    {"create_unlink", make_remove},
    {"lock_unlock", lock_unlock},
    {"ftruncate", cut},
    {"fsync", sync_file},
    {"link_unlink", link_unlink},
    {"map_unmap", map_only},
    {"map_write_unmap", map_write},
};

/* --- a row --- */

static size_t rows_fill(void)
{
    size_t count = 0;

    for (enum setting setting = 0; setting < SETTINGS; setting++) {
        for (size_t i = 0; i < COUNT_OF(operations); i++) {
            struct file_case *row = &cases[count];

            *row = (struct file_case){.operation = &operations[i], .setting = setting};
            snprintf(row->row.name, sizeof(row->row.name), "%s.%s", operations[i].name, setting_words[setting]);
            row->row.region = (unsigned)++count;
            row->row.count = MANY;
        }
    }
    return count;
}

static struct bench_row *case_row(size_t index)
{
    return &cases[index].row;
}

static const char *case_refusal(size_t index)
{
    enum setting setting = cases[index].setting;

    if (setting != SETTING_LOCAL && bench_machine.other < 0)
        return "needs a kernel or CPU on another node";
    return setting == SETTING_THIRD && bench_machine.count < 3 ? "needs three kernels or CPUs" : NULL;
}

/* Where the process is at home, and where its thread is. */
static int home_of(enum setting setting)
{
    return setting == SETTING_LOCAL || setting == SETTING_AWAY ? 0 : bench_machine.other;
}

static int place_of(enum setting setting)
{
    if (setting == SETTING_THIRD)
        return bench_machine.other == bench_machine.count - 1 ? bench_machine.count - 2 : bench_machine.count - 1;
    return setting == SETTING_LOCAL || setting == SETTING_NEAR ? 0 : bench_machine.other;
}

static bool sends(void)
{
    return bench_machine.usual == HOW_MIGRATE && bench_machine.count > 1;
}

/* What reading the counts sends is the same each time but the first: all that it needs is there then. */
static int messages_begin(void)
{
    bench_measure_warm_up();
    if (!sends())
        return 0;
    for (int i = 0; i < 3; i++) {
        shared->base = shared->before;
        if (!message_counts_read(&shared->before))
            return bench_failed("reading /proc/kettle/messages", errno);
    }
    return 0;
}

static uint64_t sent(const struct message_counts *counts, const char *name)
{
    for (size_t i = 0; i < counts->count; i++) {
        if (strcmp(counts->rows[i].name, name) == 0)
            return counts->rows[i].sent;
    }
    return 0;
}

static int messages_end(void)
{
    struct message_counts *after = &shared->after;
    size_t kept = 0;

    if (!sends())
        return 0;
    if (!message_counts_read(after))
        return bench_failed("reading /proc/kettle/messages", errno);
    for (size_t i = 0; i < after->count; i++) {
        const char *name = after->rows[i].name;
        uint64_t before = sent(&shared->before, name);
        uint64_t reading = before - sent(&shared->base, name);

        if (after->rows[i].sent <= before + reading)
            continue;
        after->rows[kept] = after->rows[i];
        after->rows[kept++].sent -= before + reading;
    }
    after->count = kept;
    shared->read = true;
    return 0;
}

/* 16 KiB, of which every page is there; at its offset 0. */
static int make_file(void)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

    for (int i = 0; i < 4 && fd >= 0; i++) {
        if (write(fd, page, sizeof(page)) != sizeof(page))
            return -1;
    }
    return fd < 0 || lseek(fd, 0, SEEK_SET) != 0 ? -1 : fd;
}

static int measure(const struct file_case *bench, uint32_t count)
{
    int fd = make_file();
    int error = fd < 0 ? bench_failed("making a file", errno) : bench_go(place_of(bench->setting));

    for (uint32_t i = 0; i < count + WARM_UP && error == 0; i++) {
        long result;

        if (i == WARM_UP) {
            error = messages_begin();
            if (error != 0)
                break;
        }
        if (i >= WARM_UP)
            bench_begin();
        result = bench->operation->run(fd);
        if (i >= WARM_UP)
            bench_end();
        if (result < 0)
            error = bench_failed(bench->operation->name, (int)-result);
    }
    if (error == 0)
        error = messages_end();
    if (fd >= 0)
        close(fd);
    return error;
}

static int case_run(size_t index, uint32_t count)
{
    const struct file_case *bench = &cases[index];
    int status = 0;
    pid_t child;
    int error = bench_go(home_of(bench->setting));

    if (error == 0)
        error = bench_bind_here();
    if (error != 0)
        return error;
    shared->read = false;
    atomic_store(&shared->outcome, -1);
    child = fork();
    if (child == 0) {
        error = bench_unbind();
        atomic_store(&shared->outcome, error != 0 ? error : measure(bench, count));
        _exit(0);
    }
    error = child < 0 ? bench_failed("fork", errno) : 0;
    if (error == 0 && waitpid(child, &status, 0) != child)
        error = bench_failed("waitpid", errno);
    if (error == 0)
        error = atomic_load(&shared->outcome);
    if (error < 0)
        error = bench_failed("the process of this case has died", ECHILD);
    unlink(path);
    if (error != 0)
        bench_measure_abandon();
    return bench_go_home() != 0 ? EPROTO : error;
}

static void case_print(size_t index)
{
    printf(", \"operation\": \"%s\", \"setting\": \"%s\", \"messages\": ", cases[index].operation->name,
           setting_words[cases[index].setting]);
    if (shared->read)
        message_counts_json(&shared->after);
    else
        fputs("null", stdout);
}

int main(int argc, char **argv)
{
    static const struct bench_program program = {.name = "filebench",
                                                 .usage = usage,
                                                 .fill = rows_fill,
                                                 .row = case_row,
                                                 .refusal = case_refusal,
                                                 .run = case_run,
                                                 .print = case_print};
    void *memory = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    shared = memory;
    if (memory == MAP_FAILED || !bench_measure_share()) {
        fprintf(stderr, "filebench: no memory to share with its processes: %s\n", strerror(errno));
        return 1;
    }
    return bench_program_main(&program, argc, argv);
}
