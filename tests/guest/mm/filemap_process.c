/* test-filemap: processes and threads that map the same file. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/mm/audit.h"
#include "tests/guest/mm/filemap.h"
#include "userland/thread.h"

#define FUTEX_WAIT 0
#define FUTEX_WAKE 1
#define ROUNDS 6
#define AFTER_EXEC 7
#define WORD_AT 64

/* --- the same page: a word of it is one futex --- */

static int *word_of(long first, long page)
{
    return (int *)(void *)(filemap_map(first, page - first + 1, PROT_READ, MAP_SHARED) + (page - first) * PAGE +
                           WORD_AT);
}

static int waits(int kernel)
{
    struct timespec minute = {60, 0};
    int *word;

    kernels_go(kernel);
    word = word_of(0, 2);
    return syscall(SYS_futex, word, FUTEX_WAIT, *word, &minute, NULL, 0) == 0 ? 0 : errno;
}

void filemap_test_same_page(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        long end = thread_time() + TAP_PATIENCE, woken = 0;
        int status = -1, *word;
        pid_t child = fork();

        if (child == 0)
            _exit(waits(k + 1));
        kernels_go(k);
        word = word_of(2, 2);
        while (woken == 0 && thread_time() < end) {
            woken = syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
            usleep(1000);
        }
        CHECK(woken == 1, "nobody is woken: %ld", woken);
        CHECK(waitpid(child, &status, 0) == child && status == 0, "the child ends with %x", status);
    }
    kernels_go(0);
}

/* --- threads --- */

static struct {
    char *shared, *private;
    atomic_int ready;
} race;

static void racer(struct thread *thread)
{
    long wrong = 0;

    kernels_go(thread->index);
    atomic_fetch_add(&race.ready, 1);
    while (atomic_load(&race.ready) < kernels_count()) {
        /* all begin at once */
    }
    for (long i = 0; i < filemap_pages; i++) {
        long page = thread->index % 2 == 0 ? i : filemap_pages - 1 - i;
        long *own = (long *)(void *)(race.private + page * PAGE) + thread->index;

        wrong += memcmp(race.shared + page * PAGE, filemap_bytes + page * PAGE, (size_t)PAGE) != 0;
        *own = page + thread->index;
    }
    atomic_store(&thread->result, wrong);
}

static bool race_ended_well(int count)
{
    for (long page = 0; page < filemap_pages; page++) {
        const char *at = race.private + page * PAGE;

        for (int i = 0; i < count; i++) {
            if (((const long *)(const void *)at)[i] != page + i)
                return false;
        }
        if (memcmp(at + 8 * count, filemap_bytes + page * PAGE + 8 * count, (size_t)(PAGE - 8 * count)) != 0)
            return false;
    }
    return true;
}

void filemap_test_race(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct thread threads[KERNELS_MAX];
        int count = kernels_count();

        memset(threads, 0, sizeof(threads));
        race.shared = filemap_map(0, filemap_pages, PROT_READ, MAP_SHARED);
        race.private = filemap_map(0, filemap_pages, PROT_READ | PROT_WRITE, MAP_PRIVATE);
        atomic_store(&race.ready, 0);
        for (int i = 0; i < count; i++) {
            threads[i].index = i;
            CHECK(thread_start(&threads[i], racer), "%s", strerror(errno));
        }
        for (int i = 0; i < count; i++) {
            CHECK(thread_join(&threads[i]), "thread %d does not end", i);
            CHECK(atomic_load(&threads[i].result) == 0, "thread %d: %ld pages are not the file's", i,
                  atomic_load(&threads[i].result));
        }
        CHECK(race_ended_well(count), "round %d: a write is lost", round);
        CHECK(audit_own(), "the audit");
        munmap(race.shared, (size_t)(filemap_pages * PAGE));
        munmap(race.private, (size_t)(filemap_pages * PAGE));
    }
}

/* --- /proc/self/maps --- */

/* The line of the area that begins at AREA, or NULL. */
static char *find_line(const char *area)
{
    static char text[65536];
    int fd = open("/proc/self/maps", O_RDONLY);
    ssize_t length, total = 0;

    while ((length = read(fd, text + total, sizeof(text) - 1 - (size_t)total)) > 0)
        total += length;
    close(fd);
    text[total] = '\0';
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (strtoul(line, NULL, 16) == (uintptr_t)area)
            return line;
    }
    return NULL;
}

static void expect_line(const char *area, long pages, const char *rights, long first, const struct stat *facts)
{
    unsigned long start, end, offset, inode;
    unsigned major_number, minor_number;
    char seen[5] = "", name[64] = "";
    char *line = find_line(area);

    if (!CHECK(line != NULL, "no line for %p", (const void *)area))
        return;
    CHECK(sscanf(line, "%lx-%lx %4s %lx %x:%x %lu %63s", &start, &end, seen, &offset, &major_number, &minor_number,
                 &inode, name) == 8,
          "%s", line);
    CHECK(end - start == (unsigned long)(pages * PAGE) && strcmp(seen, rights) == 0 &&
              offset == (unsigned long)(first * PAGE),
          "%s", line);
    CHECK(makedev(major_number, minor_number) == facts->st_dev && inode == facts->st_ino, "%s", line);
    CHECK(strcmp(name, "/bin/test-filemap") == 0 && strchr(line, '/') - line == 73, "%s", line);
}

void filemap_test_maps(void)
{
    struct stat facts;
    char *area, *shared;

    stat("/bin/test-filemap", &facts);
    for (int k = 0; k < kernels_count(); k++) {
        area = filemap_map(1, 5, PROT_READ, MAP_PRIVATE);
        shared = filemap_map(0, 1, PROT_READ, MAP_SHARED);
        kernels_go(k);
        expect_line(shared, 1, "r--s", 0, &facts);
        expect_line(area, 5, "r--p", 1, &facts);
        munmap(area + 2 * PAGE, (size_t)PAGE);
        expect_line(area, 2, "r--p", 1, &facts);
        expect_line(area + 3 * PAGE, 2, "r--p", 4, &facts);
        mprotect(area + 4 * PAGE, (size_t)PAGE, PROT_READ | PROT_WRITE);
        expect_line(area + 4 * PAGE, 1, "rw-p", 5, &facts);
        munmap(area, (size_t)(5 * PAGE));
        munmap(shared, (size_t)PAGE);
    }
    kernels_go(0);
}

/* --- exec --- */

int filemap_child(const char *word)
{
    char *arguments[] = {"test-filemap", "@after", NULL};
    char *area = filemap_map(0, filemap_pages, PROT_READ | PROT_WRITE, MAP_PRIVATE);

    kernels_go(1);
    if (!filemap_same(area, 0, filemap_pages))
        return 1;
    area[PAGE] = (char)~filemap_bytes[PAGE];
    if (strcmp(word, "before") != 0)
        return AFTER_EXEC;
    execv("/bin/test-filemap", arguments);
    return 2;
}

void filemap_test_exec(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        CHECK_CHILD_EXITS("before", NULL, AFTER_EXEC);
    }
    kernels_go(0);
}
