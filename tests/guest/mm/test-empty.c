/* test-empty: memory that one kernel has mapped, and of which others get the empty pages with the first ones that they
 * touch (mm/lease/lease.md, "Empty pages"): what they write there, and what anybody changes afterwards. Where there is
 * one kernel, and on a Linux, the same checks hold. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/mm/audit.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define TABLE 512l
#define PAGES (6 * TABLE)
#define LINE 512
#define CREW KERNELS_MAX
#define ROUNDS 12

/* New memory of kernel K, whose pages stay small. */
static char *map_at(int k, long pages)
{
    char *area;

    kernels_go(k);
    area = spread_memory_map(pages, PRIVATE);
    if (area != NULL)
        madvise(area, (size_t)(pages * PAGE), MADV_NOHUGEPAGE);
    return area;
}

/* Also audits the memory, in which nothing is leased then: what each kernel knows is what the home knows. */
static void end(char *area, long pages)
{
    CHECK(audit_own(), "at the end");
    kernels_go(0);
    CHECK(munmap(area, (size_t)(pages * PAGE)) == 0 && !memory_readable(area) &&
              !memory_readable(area + (pages - 1) * PAGE),
          "munmap: %s", strerror(errno));
}

/* Each page of one kernel's memory is first written by one of the others, and read by all. */
static void test_written(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        char *area = map_at(k, PAGES);

        if (area == NULL)
            return;
        for (int other = 1; other <= kernels_count(); other++) {
            kernels_go(k + other);
            for (long i = other - 1; i < PAGES; i += kernels_count()) /* next to each other in all tables */
                area[i * PAGE] = (char)(1 + i % 100);
        }
        for (int other = 0; other < kernels_count(); other++) {
            long wrong = 0;

            kernels_go(other);
            for (long i = 0; i < PAGES; i++)
                wrong += area[i * PAGE] != (char)(1 + i % 100) || area[i * PAGE + 1] != 0;
            CHECK(wrong == 0, "memory of kernel %d: kernel %d finds %ld wrong pages", k, other, wrong);
        }
        end(area, PAGES);
    }
}

/* Rows up and down, and what is between them, by kernels in turn. */
static void test_rows(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        char *area = map_at(k, TABLE);

        if (area == NULL)
            return;
        area[100 * PAGE] = 'h'; /* the table has an entry at home */
        kernels_go(k + 1);
        for (long i = 0; i < 60; i++)
            area[i * PAGE] = 'u';
        for (long i = TABLE - 1; i > 300; i--)
            area[i * PAGE] = 'd';
        kernels_go(k + 2); /* the kernel before it knows of an area here */
        for (long i = 60; i <= 300; i++)
            area[i * PAGE + 1] = 'm';
        CHECK(munmap(area + 200 * PAGE, PAGE) == 0 &&
                  mmap(area + 200 * PAGE, PAGE, PROT_READ, PRIVATE | MAP_FIXED, -1, 0) == area + 200 * PAGE,
              "%s", strerror(errno));
        kernels_go(k + 1);
        CHECK(memory_readable(area + 200 * PAGE) && !memory_writable(area + 200 * PAGE), "what kernel %d has replaced",
              k + 2);
        for (int other = 0; other < kernels_count(); other++) {
            long wrong = 0;

            kernels_go(k + other);
            for (long i = 0; i < TABLE; i++)
                wrong += area[i * PAGE] != (i < 60     ? 'u'
                                            : i > 300  ? 'd'
                                            : i == 100 ? 'h'
                                                       : 0) ||
                         area[i * PAGE + 1] != (i >= 60 && i <= 300 && i != 200 ? 'm' : 0);
            CHECK(wrong == 0, "memory of kernel %d: the kernel %d behind it finds %ld wrong pages", k, other, wrong);
        }
        end(area, TABLE);
    }
}

/* One kernel fills a table in the middle of another's memory; both change what lies over its ends. */
static void test_changed(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        for (int who = 0; who < 3; who++) {
            char *area = map_at(k, PAGES), *mine, *moved;

            if (area == NULL)
                return;
            mine = area + 2 * TABLE * PAGE;
            kernels_go(k + 1);
            memset(mine, 'm', TABLE * PAGE);
            kernels_go(k + who);
            CHECK(mprotect(mine - PAGE, 3 * PAGE, PROT_READ) == 0 && munmap(mine + 10 * PAGE, PAGE) == 0 &&
                      madvise(mine + 12 * PAGE, PAGE, MADV_DONTNEED) == 0,
                  "kernel %d: %s", k + who, strerror(errno));
            CHECK(mmap(mine + 20 * PAGE, PAGE, READ_WRITE, PRIVATE | MAP_FIXED, -1, 0) == mine + 20 * PAGE, "%s",
                  strerror(errno));
            for (int other = 0; other < kernels_count(); other++) {
                kernels_go(other);
                CHECK(!memory_writable(mine - PAGE) && !memory_writable(mine + PAGE) &&
                          memory_writable(mine + 2 * PAGE),
                      "the protection on kernel %d", other);
                CHECK(!memory_readable(mine + 10 * PAGE) && mine[11 * PAGE] == 'm' && mine[12 * PAGE] == 0 &&
                          mine[20 * PAGE] == 0 && mine[PAGE] == 'm',
                      "the pages on kernel %d", other);
            }
            kernels_go(k + 1);
            moved = mremap(mine + 30 * PAGE, 10 * PAGE, 20 * PAGE, MREMAP_MAYMOVE);
            CHECK(moved != MAP_FAILED && moved[0] == 'm' && moved[9 * PAGE] == 'm' && moved[10 * PAGE] == 0 &&
                      !memory_readable(mine + 30 * PAGE),
                  "mremap: %s", strerror(errno));
            munmap(moved, 20 * PAGE);
            end(area, PAGES);
        }
    }
}

/* How many lines /proc/self/maps has for [START, END), and whether the first of them covers it. */
static long lines_of(const char *start, const char *end_of, bool *covers)
{
    FILE *file = fopen("/proc/self/maps", "r");
    char line[LINE];
    long lines = 0;

    *covers = false;
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        char *rest;
        unsigned long low = strtoul(line, &rest, 16), high = strtoul(rest + 1, &rest, 16);

        if (low >= (unsigned long)end_of || high <= (unsigned long)start)
            continue;
        *covers = *covers || (low <= (unsigned long)start && high >= (unsigned long)end_of);
        lines++;
    }
    if (file != NULL)
        fclose(file);
    return lines;
}

static void test_listed(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        char *area = map_at(k, PAGES);
        bool covers;
        long lines;

        if (area == NULL)
            return;
        for (int other = 0; other < kernels_count(); other++) {
            kernels_go(k + other);
            area[(other % 6) * TABLE * PAGE + PAGE] = 1;
        }
        lines = lines_of(area, area + PAGES * PAGE, &covers);
        CHECK(lines == 1 && covers, "memory of kernel %d is in %ld lines", k, lines);
        end(area, PAGES);
    }
}

/* A child has what its parent has written on another kernel than where it was mapped. */
static void test_inherited(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        for (int from = 0; from < 3; from++) {
            char *area = map_at(k, PAGES);
            int status = -1;
            pid_t child;

            if (area == NULL)
                return;
            kernels_go(k + 1);
            for (long i = 0; i < 2 * TABLE; i += 7)
                area[i * PAGE] = 'p';
            kernels_go(k + from);
            child = fork();
            if (child == 0) {
                kernels_go(k + 2);
                for (long i = 0; i < 2 * TABLE; i++) {
                    if (area[i * PAGE] != (i % 7 == 0 ? 'p' : 0))
                        _exit(1);
                }
                memset(area, 'c', 3 * TABLE * PAGE);
                _exit(area[2 * TABLE * PAGE] == 'c' && area[4 * TABLE * PAGE] == 0 ? 0 : 2);
            }
            kernels_go(k + 1);
            for (long i = 0; i < 3 * TABLE; i += 14)
                area[i * PAGE] = 'q';
            CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "child on %d: status %x", k + from,
                  (unsigned)status);
            CHECK(area[0] == 'q' && area[7 * PAGE] == 'p' && area[PAGE] == 0, "parent on kernel %d", k + 1);
            end(area, PAGES);
        }
    }
}

/* --- many threads at once --- */

static struct {
    _Atomic(char *) area;
    atomic_int arrived;
    atomic_int failed;
} race;

static long random_page(uint64_t *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (long)((*state >> 33) % (2 * TABLE));
}

/* Counts in each page of two tables, all threads in another order, or in rows; and drops one now and then. */
static void run_racer(struct thread *thread)
{
    uint64_t state = (uint64_t)thread->index + 1;

    if (thread_move(thread->index / 2 % kernels_count()) != 0)
        race.failed = 1;
    for (int round = 1; round <= ROUNDS && race.failed == 0; round++) {
        char *area;

        race.arrived++;
        while ((area = race.area) == NULL || race.arrived < round * 2 * CREW) {
            if (race.failed != 0)
                return;
            x86_syscall0(SYS_sched_yield);
        }
        area += (round - 1) * 2 * TABLE * PAGE;
        for (long i = 0; i < 2 * TABLE; i++) {
            long page = round % 3 == 0 ? random_page(&state) : (i + thread->index * TABLE / CREW) % (2 * TABLE);

            __atomic_fetch_add((long *)(void *)(area + page * PAGE) + thread->index, 1, __ATOMIC_RELAXED);
        }
    }
}

static void test_raced(void)
{
    static struct thread crew[2 * CREW];
    long size = ROUNDS * 2 * TABLE;
    char *area = map_at(0, size);

    if (area == NULL)
        return;
    memset(crew, 0, sizeof(crew));
    race.arrived = race.failed = 0;
    race.area = area;
    for (int i = 0; i < 2 * CREW; i++) {
        crew[i].index = i;
        if (!CHECK(thread_start(&crew[i], run_racer), "thread %d: %s", i, strerror(errno)))
            return;
    }
    for (int i = 0; i < 2 * CREW; i++)
        CHECK(thread_join(&crew[i]), "thread %d does not end", i);
    CHECK(race.failed == 0, "a thread has not moved");
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 2 * CREW; i++) {
            long sum = 0;

            for (long page = 0; page < 2 * TABLE; page++)
                sum += ((long *)(void *)(area + (round * 2 * TABLE + page) * PAGE))[i];
            CHECK(sum == 2 * TABLE, "round %d: thread %d has added %ld, %ld are there", round + 1, i, 2 * TABLE, sum);
        }
    }
    end(area, size);
}

/* --- looks without a lock --- */

#define LOOKED 128l /* tables */

static struct {
    _Atomic(char *) area;
    atomic_int over; /* threads */
    atomic_int failed;
} looks;

/* Touches one page in every other table. */
static void run_toucher(struct thread *thread)
{
    if (thread_move(1 + thread->index % (kernels_count() - 1)) != 0)
        looks.failed = 1;
    for (long i = thread->index; i < LOOKED && looks.failed == 0; i += 2 * CREW)
        looks.area[i * TABLE * PAGE + 100 * PAGE] = 1;
    looks.over++;
}

/* What the home says of memory is true whoever begins to touch it meanwhile. */
static void test_looked(void)
{
    static struct thread crew[CREW];
    size_t size = (size_t)(LOOKED * TABLE * PAGE);
    char *area = kernels_count() > 1 ? map_at(0, LOOKED * TABLE) : NULL;

    if (area == NULL)
        return;
    memset(crew, 0, sizeof(crew));
    looks.over = looks.failed = 0;
    looks.area = area;
    for (int i = 0; i < CREW; i++) {
        crew[i].index = i;
        if (!CHECK(thread_start(&crew[i], run_toucher), "thread %d: %s", i, strerror(errno)))
            return;
    }
    while (looks.over < CREW && looks.failed == 0) {
        bool synced = msync(area, size, MS_ASYNC) == 0, resized = mremap(area, size, size, 0) == area;

        if (!CHECK(synced && resized, "msync %d, mremap %d: %s", synced, resized, strerror(errno)))
            looks.failed = 1;
    }
    for (int i = 0; i < CREW; i++)
        CHECK(thread_join(&crew[i]), "thread %d does not end", i);
    CHECK(looks.failed == 0, "a thread has not moved, or a look was wrong");
    end(area, LOOKED * TABLE);
}

/* --- what it costs --- */

/* Of kernel KERNEL's line in /proc/self/kettle the questions that it has asked; -1: there is none. */
static long fetches_of(int kernel)
{
    FILE *file = fopen("/proc/self/kettle", "r");
    char line[LINE], start[32];
    long value = -1;

    if (file == NULL)
        return -1;
    snprintf(start, sizeof(start), "kernel %d ", kernel);
    while (fgets(line, sizeof(line), file) != NULL) {
        const char *at = strncmp(line, start, strlen(start)) == 0 ? strstr(line, " fetches ") : NULL;

        if (at != NULL)
            value = strtol(at + strlen(" fetches "), NULL, 10);
    }
    fclose(file);
    return value;
}

/* Touches COUNT pages of AREA, STEP apart, on kernel K. Returns the questions that it asks. */
static long touch(int k, char *area, long count, long step)
{
    long before;

    kernels_go(k);
    before = fetches_of(k);
    for (long i = 0; i < count; i++)
        area[i * step * PAGE] = 1;
    return fetches_of(k) - before;
}

static void test_few(void)
{
    for (int k = 1; k < kernels_count(); k++) {
        char *area = map_at(0, PAGES);
        long tables, apart, row;

        if (area == NULL)
            return;
        tables = touch(k, area, 3 * TABLE, 1);
        apart = touch(k, area + 3 * TABLE * PAGE, 12, 128);
        CHECK(tables <= 4 + 6 && apart <= 4 + 6, "kernel %d asks %ld and %ld times for empty tables", k, tables, apart);
        end(area, PAGES);
        area = map_at(0, PAGES);
        for (long i = 0; area != NULL && i < 6; i++)
            area[(i * TABLE + TABLE / 2) * PAGE] = 'h';
        row = touch(k, area, 100, 1);
        CHECK(row <= 4 + 6, "kernel %d asks %ld times for a row of 100 pages", k, row);
        end(area, PAGES);
    }
}

/* Two kernels take turns, a page each: it must not come to a lease and its recall for each page. */
static void test_turns(void)
{
    char *area = map_at(0, PAGES);
    long before, asked;

    if (area == NULL || kernels_count() < 2)
        return;
    kernels_go(1);
    before = fetches_of(1);
    for (long i = 0; i < 2 * TABLE; i++) {
        kernels_go(1);
        area[i * PAGE] = 'a';
        kernels_go(0);
        CHECK(area[i * PAGE] == 'a', "page %ld", i);
    }
    kernels_go(1);
    asked = fetches_of(1) - before;
    CHECK(asked > TABLE, "leases were granted again and again: %ld questions for %ld pages", asked, 2 * TABLE);
    end(area, PAGES);
}

static const struct tap_test tests[] = {
    {"written", "what kernels write in turn into another one's memory all of them find", test_written},
    {"rows", "rows of pages up and down, beside pages of the home", test_rows},
    {"changed", "any kernel changes what lies over the ends of what another has filled", test_changed},
    {"listed", "/proc lists memory as one area whoever has filled parts of it", test_listed},
    {"inherited", "a child has what was written on other kernels", test_inherited},
    {"looked", "a look at memory finds all of it while other kernels begin to touch it", test_looked},
    {"raced", "no page is lost or doubled when threads of all kernels touch the same tables at once", test_raced},
};
static const struct tap_test counted[] = {
    {"few", "a kernel asks once for each empty table, and a few times for a row of pages", test_few},
    {"turns", "kernels that take turns page by page do not get leases that are recalled at once", test_turns},
};

int main(int argc, char **argv)
{
    kernels_find();
    if (tap_take(&argc, &argv, "counted"))
        return tap_run(argc, argv, counted, TAP_COUNT(counted));
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
