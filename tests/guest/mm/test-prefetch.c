/* test-prefetch: pages that come with the answer to a fault on another page. The argument says how many runs an answer
 * may bring, as prefetch= on the boot command line does. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "userland/thread.h"

#define PAGE 4096ul
#define PAGES 256ul /* of one table */
#define TABLE (512 * PAGE)

static unsigned long runs;

/* The figure NAME of kernel HERE in /proc/self/kettle. */
static unsigned long figure(int here, const char *name)
{
    FILE *file = fopen("/proc/self/kettle", "r");
    char line[512], start[32];
    unsigned long value = 0;

    if (file == NULL) {
        CHECK(false, "/proc/self/kettle: %s", strerror(errno));
        return 0;
    }
    snprintf(start, sizeof(start), "kernel %d ", here);
    while (fgets(line, sizeof(line), file) != NULL) {
        const char *at = strncmp(line, start, strlen(start)) == 0 ? strstr(line, name) : NULL;

        if (at != NULL)
            value = strtoul(at + strlen(name), NULL, 10);
    }
    fclose(file);
    return value;
}

/* PAGES pages in one table, which nobody has touched. */
static char *area(void)
{
    char *whole = mmap(NULL, 2 * TABLE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (whole == MAP_FAILED)
        return NULL;
    madvise(whole, 2 * TABLE, MADV_NOHUGEPAGE); /* an answer brings all of a large page along */
    return (char *)(((uintptr_t)whole + TABLE - 1) & ~(TABLE - 1));
}

/* Kernel 0 writes to all pages in turn, kernel 1 reads them. */
static void test_sequence(void)
{
    unsigned long before, fetches, brought, used;
    char *start = area();

    if (!CHECK(start != NULL, "%s", strerror(errno)) || !CHECK(thread_move(0) == 0, "no move"))
        return;
    for (unsigned long i = 0; i < PAGES; i++)
        *(volatile unsigned long *)(void *)(start + i * PAGE) = i + 1;
    if (!CHECK(thread_move(1) == 0, "no move"))
        return;
    before = figure(1, " frames ");
    brought = figure(1, " prefetched ");
    used = figure(1, " used ");
    for (unsigned long i = 0; i < PAGES; i++)
        CHECK(*(volatile unsigned long *)(void *)(start + i * PAGE) == i + 1, "page %lu has something else", i);
    fetches = figure(1, " frames ") - before;
    brought = figure(1, " prefetched ") - brought;
    used = figure(1, " used ") - used;
    tap_note("%lu pages with %lu runs an answer: %lu fetches, %lu brought along, %lu of them used", PAGES, runs,
             fetches, brought, used);
    if (runs == 0) {
        CHECK(fetches >= PAGES && brought == 0, "%lu fetches, %lu brought along", fetches, brought);
    } else {
        CHECK(fetches < PAGES / 2 && brought > PAGES / 2, "%lu fetches, %lu brought along", fetches, brought);
        CHECK(used > brought / 2 && used <= brought, "%lu of %lu used", used, brought);
    }
}

/* As above, with pages that have no consecutive frames, so that each is a run of its own. */
static void test_scattered(void)
{
    unsigned long before, fetches;
    char *start = area();

    if (!CHECK(start != NULL, "%s", strerror(errno)) || !CHECK(thread_move(0) == 0, "no move"))
        return;
    for (unsigned long i = 0; i < PAGES; i++) {
        unsigned long page = i / 2 + i % 2 * (PAGES / 2);

        *(volatile unsigned long *)(void *)(start + page * PAGE) = page + 1;
    }
    if (!CHECK(thread_move(1) == 0, "no move"))
        return;
    before = figure(1, " frames ");
    for (unsigned long i = 0; i < PAGES; i++)
        CHECK(*(volatile unsigned long *)(void *)(start + i * PAGE) == i + 1, "page %lu has something else", i);
    fetches = figure(1, " frames ") - before;
    tap_note("%lu runs of a page with %lu an answer: %lu fetches", PAGES, runs, fetches);
    CHECK(runs == 0 ? fetches >= PAGES : fetches < 2 * PAGES / runs && fetches >= PAGES / runs, "%lu fetches", fetches);
}

/* A page that was brought along is as every other one: it goes with an unmap, and it obeys a change of protection. */
static void test_change(void)
{
    char *start = area();

    if (!CHECK(start != NULL, "%s", strerror(errno)) || !CHECK(thread_move(0) == 0, "no move"))
        return;
    for (unsigned long i = 0; i < PAGES; i++)
        start[i * PAGE] = (char)i;
    CHECK(thread_move(1) == 0 && start[0] == 0, "page 0 has something else");
    CHECK(thread_move(0) == 0 && munmap(start + PAGE, PAGE) == 0 &&
              mmap(start + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
                  start + PAGE,
          "%s", strerror(errno));
    start[PAGE] = 77;
    CHECK(thread_move(1) == 0, "no move");
    CHECK(start[PAGE] == 77 && start[2 * PAGE] == 2, "page 1 has %d, page 2 %d", start[PAGE], start[2 * PAGE]);
}

/* After a fork, pages come along as they do otherwise, and are copied by whoever writes. */
static void test_copied(void)
{
    char *start = area();
    pid_t child;

    if (!CHECK(start != NULL, "%s", strerror(errno)) || !CHECK(thread_move(0) == 0, "no move"))
        return;
    for (unsigned long i = 0; i < PAGES; i++)
        start[i * PAGE] = (char)i;
    child = FORK();
    if (child == 0) {
        unsigned long before, fetches;

        if (thread_move(1) != 0)
            _exit(1);
        before = figure(1, " frames ");
        for (unsigned long i = 0; i < PAGES; i++) {
            if (start[i * PAGE] != (char)i)
                _exit(2);
        }
        fetches = figure(1, " frames ") - before;
        if (runs == 0 ? fetches < PAGES : fetches >= PAGES / 2)
            _exit(3);
        for (unsigned long i = 0; i < PAGES; i += 3)
            start[i * PAGE] = (char)(i + 1);
        if (thread_move(0) != 0)
            _exit(1);
        for (unsigned long i = 0; i < PAGES; i++) {
            if (start[i * PAGE] != (char)(i % 3 == 0 ? i + 1 : i))
                _exit(4);
        }
        _exit(0);
    }
    CHECK_EXITS(child, 0);
    for (unsigned long i = 0; i < PAGES; i++)
        CHECK(start[i * PAGE] == (char)i, "page %lu has %d", i, start[i * PAGE]);
}

/* What threads of a forked child write, each page has WORDS of. */
enum { HOME_WORD, AWAY_WORD, WORDS };

static struct {
    volatile unsigned *pages;
    volatile unsigned written[PAGES][WORDS]; /* what every later read must see at least */
    volatile int writers, wrong;
} storm;

static volatile unsigned *storm_word(unsigned long page, int word)
{
    return storm.pages + page * PAGE / sizeof(unsigned) + word;
}

static void *storm_write(void *argument)
{
    int word = (int)(intptr_t)argument;

    if (thread_move(word == HOME_WORD ? 0 : 1) != 0)
        storm.wrong = 1;
    for (unsigned long i = 0; i < PAGES; i++) {
        unsigned long page = i * 37 % PAGES; /* not in order: runs bring pages that are being written */

        *storm_word(page, word) = 1;
        __atomic_store_n(&storm.written[page][word], 1, __ATOMIC_RELEASE);
    }
    __atomic_fetch_sub(&storm.writers, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void *storm_read(void *argument)
{
    bool more = true;

    if (thread_move((int)(intptr_t)argument) != 0)
        storm.wrong = 1;
    while (more) {
        more = __atomic_load_n(&storm.writers, __ATOMIC_ACQUIRE) != 0; /* once more when they have ended */
        for (unsigned long page = 0; page < PAGES; page++) {
            for (int word = 0; word < WORDS; word++) {
                unsigned least = __atomic_load_n(&storm.written[page][word], __ATOMIC_ACQUIRE);

                if (*storm_word(page, word) < least)
                    storm.wrong = 2;
            }
        }
    }
    return NULL;
}

/* No thread reads an old frame of a page that another thread of its process, here or elsewhere, has written. */
static void test_storm(void)
{
    for (int round = 0; round < 20; round++) {
        pid_t child;

        if (!CHECK(thread_move(0) == 0, "no move"))
            return;
        storm.pages = (volatile unsigned *)(void *)area();
        if (!CHECK(storm.pages != NULL, "%s", strerror(errno)))
            return;
        for (unsigned long page = 0; page < PAGES; page++)
            *storm_word(page, HOME_WORD) = 0;
        child = FORK();
        if (child == 0) {
            pthread_t threads[2 * WORDS];

            storm.writers = WORDS;
            for (int i = 0; i < 2 * WORDS; i++) {
                if (pthread_create(&threads[i], NULL, i < WORDS ? storm_write : storm_read,
                                   (void *)(intptr_t)(i % WORDS)) != 0)
                    _exit(9);
            }
            for (int i = 0; i < 2 * WORDS; i++)
                pthread_join(threads[i], NULL);
            _exit(storm.wrong);
        }
        CHECK_EXITS(child, 0);
        CHECK(*storm_word(0, HOME_WORD) == 0 && *storm_word(PAGES - 1, AWAY_WORD) == 0, "the child's writes are here");
        CHECK(munmap((void *)storm.pages, PAGES * PAGE) == 0, "%s", strerror(errno));
    }
}

/* Maps a new file of PAGES pages, each with its number. *FILE: a descriptor for both, by which the mapping is made if
 * PROT allows writes; *READING: one for reading, else. */
static char *file_area(int prot, int type, int *file, int *reading)
{
    static const char name[] = "/test-prefetch.data";
    static unsigned char page[PAGE];
    char *start;

    *file = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    *reading = open(name, O_RDONLY | O_CLOEXEC);
    CHECK(unlink(name) == 0, "%s", strerror(errno));
    for (unsigned long i = 0; i < PAGES; i++) {
        memset(page, (int)i, sizeof(page));
        if (!CHECK(write(*file, page, sizeof(page)) == (ssize_t)sizeof(page), "%s", strerror(errno)))
            return NULL;
    }
    start = mmap(NULL, PAGES * PAGE, prot, type, (prot & PROT_WRITE) != 0 ? *file : *reading, 0);
    CHECK(start != MAP_FAILED, "%s", strerror(errno));
    return start != MAP_FAILED ? start : NULL;
}

static void file_end(char *start, int file, int reading)
{
    munmap(start, PAGES * PAGE);
    close(reading);
    close(file);
    CHECK(thread_move(0) == 0, "no move");
}

/* Kernel 1 reads a file that nobody has mapped before, by a descriptor for reading. */
static void test_file(void)
{
    unsigned long fetches;
    int file, reading;
    char *start = file_area(PROT_READ, MAP_SHARED, &file, &reading);

    if (start == NULL || !CHECK(thread_move(1) == 0, "no move"))
        return;
    fetches = figure(1, " frames ");
    for (unsigned long i = 0; i < PAGES; i++)
        CHECK(start[i * PAGE] == (char)i, "page %lu has %d", i, start[i * PAGE]);
    fetches = figure(1, " frames ") - fetches;
    tap_note("%lu pages of a file with %lu runs an answer: %lu fetches", PAGES, runs, fetches);
    CHECK(runs == 0 ? fetches >= PAGES : fetches < PAGES / 2, "%lu fetches", fetches);
    for (unsigned long i = 0; i < PAGES; i += 5)
        CHECK(pwrite(file, "x", 1, (off_t)(i * PAGE)) == 1 && start[i * PAGE] == 'x', "page %lu has not changed", i);
    file_end(start, file, reading);
}

/* Pages that have come along go with the end of the file, as all others do. */
static void test_file_cut(void)
{
    for (int type = MAP_SHARED; type <= MAP_PRIVATE; type++) {
        int file, reading;
        char *start = file_area(PROT_READ, type, &file, &reading);

        if (start == NULL)
            return;
        for (int kernel = 0; kernel < 2; kernel++) { /* the first page of each 16, which bring the others along */
            CHECK(thread_move(kernel) == 0, "no move");
            for (unsigned long i = 0; i < PAGES; i += 16)
                CHECK(start[i * PAGE] == (char)i, "page %lu has %d", i, start[i * PAGE]);
        }
        CHECK(ftruncate(file, 5 * PAGE) == 0, "%s", strerror(errno));
        CHECK(ftruncate(file, PAGES * PAGE) == 0, "%s", strerror(errno));
        for (int kernel = 1; kernel >= 0; kernel--) {
            CHECK(thread_move(kernel) == 0, "no move");
            for (unsigned long i = 0; i < PAGES; i++)
                CHECK(start[i * PAGE] == (char)(i < 5 ? i : 0), "type %d, page %lu on %d has %d", type, i, kernel,
                      start[i * PAGE]);
        }
        file_end(start, file, reading);
    }
}

/* A private mapping that may be written keeps its copies when the file gets a hole; of what it has not written, read or
 * not, it sees the hole, and what is then written there. */
static void test_file_hole(void)
{
    const unsigned long first = 2, behind = 50, copies[2] = {4, 6}, renewed = 5;
    int file, reading;
    char *start = file_area(PROT_READ | PROT_WRITE, MAP_PRIVATE, &file, &reading);

    if (start == NULL)
        return;
    for (int kernel = 0; kernel < 2; kernel++) {
        CHECK(thread_move(kernel) == 0, "no move");
        for (unsigned long i = 0; i < PAGES; i += 16)
            CHECK(start[i * PAGE] == (char)i, "page %lu has %d", i, start[i * PAGE]);
        start[copies[kernel] * PAGE] = 'c';
    }
    for (int round = 0; round < 2; round++) {
        CHECK(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, first * PAGE,
                        (off_t)((behind - first) * PAGE)) == 0,
              "%s", strerror(errno));
        CHECK(pwrite(file, round == 0 ? "m" : "n", 1, (off_t)(renewed * PAGE)) == 1, "%s", strerror(errno));
        for (int kernel = 1; kernel >= 0; kernel--) {
            CHECK(thread_move(kernel) == 0, "no move");
            for (unsigned long i = 0; i < PAGES; i++) {
                char expected = (char)(i < first || i >= behind ? i : 0);

                if (i == copies[0] || i == copies[1])
                    expected = 'c';
                else if (i == renewed)
                    expected = round == 0 ? 'm' : 'n';
                CHECK(start[i * PAGE] == expected, "hole %d, page %lu on %d has %d", round, i, kernel, start[i * PAGE]);
            }
        }
    }
    file_end(start, file, reading);
}

/* The first write to a page changes the file's times, also if its neighbour has been read: no page that may be written
 * has come along. */
static void test_file_times(void)
{
    const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    int file, reading;
    char *start = file_area(PROT_READ | PROT_WRITE, MAP_SHARED, &file, &reading);

    if (start == NULL)
        return;
    for (int kernel = 0; kernel < 2; kernel++) {
        struct stat facts;
        unsigned long first = 64 * (unsigned long)kernel;

        while (((uintptr_t)start / PAGE + first) % 32 !=
               0) /* it and the next are in one block of those that come along */
            first++;
        CHECK(thread_move(kernel) == 0, "no move");
        CHECK(start[first * PAGE] == (char)first, "page %lu has %d", first, start[first * PAGE]);
        CHECK(futimens(file, old) == 0, "%s", strerror(errno));
        start[(first + 1) * PAGE] = 'w';
        CHECK(fstat(file, &facts) == 0 && facts.st_mtime != 1000, "a write on kernel %d has changed no time", kernel);
    }
    file_end(start, file, reading);
}

static const struct tap_test tests[] = {
    {"sequence", "pages touched in sequence are prefetched, and none when the option says none", test_sequence},
    {"scattered", "runs of one page come as many at once as the option says", test_scattered},
    {"change", "prefetched pages are unmapped with the others", test_change},
    {"copied", "pages that a fork shares are prefetched, and each process keeps its own", test_copied},
    {"file", "pages of a file that is only read are prefetched, and show what is written to it", test_file},
    {"file-cut", "prefetched pages of a file are lost with its end", test_file_cut},
    {"file-hole", "a private mapping sees a hole of its file, but where it has copies", test_file_hole},
    {"file-times", "no page of a file that may be written is prefetched: its first write changes the times",
     test_file_times},
    {"storm", "no thread reads what a page had before another one wrote to it, while pages are copied", test_storm},
};

int main(int argc, char **argv)
{
    static const struct tap_program program = {.tests = tests, .count = TAP_COUNT(tests), .parameters = "RUNS"};
    long count = 0;

    if (!tap_take_number(&argc, &argv, &count) || count < 0 || place_count() < 2) {
        fprintf(stderr, "usage: test-prefetch RUNS [TEST...], on a machine of two kernels\n");
        return 2;
    }
    runs = (unsigned long)count;
    return tap_main(argc, argv, &program);
}
