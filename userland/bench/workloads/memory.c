/* What memory itself costs, beside the programs: STREAM's triad, a chase of pointers, random updates, the first touch
 * of pages, and reading a file through mappings. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "userland/bench/workloads/random.h"
#include "userland/bench/workloads/team.h"
#include "userland/bench/workloads/workload.h"

#define PAGE 4096
#define STREAM_TIMES 10
#define LINE_WORDS 8 /* a cache line */
#define UPDATES 4    /* for each word of the table */
#define FILE_NAME "/workload.data"

static const int bits[] = {20, 22, 24, 26}; /* bytes of each array, of the classes */

static long words;
static double *a, *b, *c;
static uint64_t *table;
static uint64_t sums[TEAM_MAX];
static unsigned char *pages;
static long page_count;

static bool words_set(char name)
{
    int row = workload_class(name);

    if (row >= 0)
        words = (1L << bits[row]) / (long)sizeof(uint64_t);
    return row >= 0;
}

/* --- stream: a = b + 3 c --- */

static bool stream_setup(char name)
{
    if (!words_set(name))
        return false;
    a = workload_memory((size_t)words * sizeof(*a));
    b = workload_memory((size_t)words * sizeof(*b));
    c = workload_memory((size_t)words * sizeof(*c));
    return true;
}

static void stream_run(int me)
{
    long first;
    long end;

    team_range(me, words, &first, &end);
    for (long i = first; i < end; i++) {
        a[i] = 0.0;
        b[i] = (double)i;
        c[i] = 1.0;
    }
    team_clock_begin();
    team_stage_begin(me);
    for (int time = 0; time < STREAM_TIMES; time++) {
        for (long i = first; i < end; i++)
            a[i] += b[i] + 3.0 * c[i];
        team_barrier();
    }
    team_stage_end(me);
    team_clock_end();
}

static bool stream_verify(void)
{
    for (long i = 0; i < words; i++) {
        if (a[i] != STREAM_TIMES * ((double)i + 3.0))
            return false;
    }
    return true;
}

static double stream_operations(void)
{
    return 4.0 * sizeof(double) * STREAM_TIMES * (double)words;
}

const struct workload workload_stream = {"stream",   "triad of three arrays", "bytes",          stream_setup,
                                         stream_run, stream_verify,           stream_operations};

/* --- chase: each member follows one cycle through all cache lines of the table, from a place of its own --- */

static bool chase_setup(char name)
{
    uint64_t state = RANDOM_SEED;
    long lines;

    if (!words_set(name))
        return false;
    table = workload_memory((size_t)words * sizeof(*table));
    lines = words / LINE_WORDS;
    for (long i = 0; i < lines; i++)
        table[i * LINE_WORDS] = (uint64_t)i;
    for (long i = lines - 1; i > 0; i--) { /* Sattolo: one cycle */
        long other = (long)((double)i * random_next(&state));
        uint64_t swap = table[i * LINE_WORDS];

        table[i * LINE_WORDS] = table[other * LINE_WORDS];
        table[other * LINE_WORDS] = swap;
    }
    return true;
}

static void chase_run(int me)
{
    long lines = words / LINE_WORDS;
    uint64_t begin = (uint64_t)(me * (lines / team_members()));
    uint64_t at = begin;
    uint64_t steps = 0;

    team_clock_begin();
    team_stage_begin(me);
    do {
        at = table[at * LINE_WORDS];
        steps++;
    } while (at != begin);
    sums[me] = steps;
    team_stage_end(me);
    team_clock_end();
}

static bool chase_verify(void)
{
    for (int me = 0; me < team_members(); me++) {
        if (sums[me] != (uint64_t)(words / LINE_WORDS))
            return false;
    }
    return true;
}

static double chase_operations(void)
{
    return (double)(words / LINE_WORDS) * team_members();
}

const struct workload workload_chase = {"chase",   "a cycle of pointers", "loads",         chase_setup,
                                        chase_run, chase_verify,          chase_operations};

/* --- random: exclusive or with random words at random places, as HPCC's RandomAccess; twice is nothing --- */

static bool random_setup(char name)
{
    if (!words_set(name))
        return false;
    table = workload_memory((size_t)words * sizeof(*table));
    return true;
}

static void random_update(int me)
{
    uint64_t state;
    long first;
    long end;

    team_range(me, words * UPDATES, &first, &end);
    state = random_skip(RANDOM_SEED, (uint64_t)first);
    for (long i = first; i < end; i++) {
        long at = (long)(random_next(&state) * (double)words);

        __atomic_fetch_xor(&table[at], state, __ATOMIC_RELAXED);
    }
}

static void random_run(int me)
{
    long first;
    long end;

    team_range(me, words, &first, &end);
    for (long i = first; i < end; i++)
        table[i] = (uint64_t)i;
    team_clock_begin();
    team_stage_begin(me);
    random_update(me);
    team_barrier();
    random_update(team_members() - 1 - me);
    team_stage_end(me);
    team_clock_end();
}

static bool random_verify(void)
{
    for (long i = 0; i < words; i++) {
        if (table[i] != (uint64_t)i)
            return false;
    }
    return true;
}

static double random_operations(void)
{
    return 2.0 * UPDATES * (double)words;
}

const struct workload workload_random = {"random",   "random updates", "updates",        random_setup,
                                         random_run, random_verify,    random_operations};

/* --- touch: every page for the first time, written by one member; then read by the next --- */

static bool touch_setup(char name)
{
    if (!words_set(name))
        return false;
    page_count = words * (long)sizeof(uint64_t) / PAGE;
    pages = workload_memory((size_t)page_count * PAGE);
    madvise(pages, (size_t)page_count * PAGE, MADV_NOHUGEPAGE);
    return true;
}

static void touch_run(int me)
{
    long first;
    long end;
    uint64_t sum = 0;

    team_range(me, page_count, &first, &end);
    team_clock_begin();
    team_stage_begin(me);
    for (long i = first; i < end; i++)
        pages[i * PAGE] = (unsigned char)(i % 251);
    team_barrier();
    team_range((me + 1) % team_members(), page_count, &first, &end);
    for (long i = first; i < end; i++)
        sum += pages[i * PAGE];
    sums[me] = sum;
    team_stage_end(me);
    team_clock_end();
}

static bool touch_verify(void)
{
    uint64_t sum = 0;
    uint64_t right = 0;

    for (long i = 0; i < page_count; i++)
        right += (uint64_t)(i % 251);
    for (int me = 0; me < team_members(); me++)
        sum += sums[me];
    return sum == right;
}

static double touch_operations(void)
{
    return 2.0 * (double)page_count;
}

const struct workload workload_touch = {
    "touch",         "first touches of pages, and those of another", "touches", touch_setup, touch_run, touch_verify,
    touch_operations};

/* --- reader: all members read one file through a mapping of their own --- */

static bool reader_setup(char name)
{
    unsigned char page[PAGE];
    int file;
    bool written = true;

    if (!words_set(name))
        return false;
    page_count = words * (long)sizeof(uint64_t) / PAGE;
    file = open(FILE_NAME, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    for (long i = 0; i < page_count && file >= 0 && written; i++) {
        memset(page, (int)(i % 251), sizeof(page));
        written = write(file, page, sizeof(page)) == (ssize_t)sizeof(page);
    }
    if (file < 0 || !written || close(file) != 0) {
        perror("workload: reader: " FILE_NAME);
        return false;
    }
    return true;
}

static void reader_run(int me)
{
    const uint64_t *mapped;
    uint64_t sum = 0;
    int file;

    team_clock_begin();
    team_stage_begin(me);
    file = open(FILE_NAME, O_RDONLY | O_CLOEXEC);
    mapped = mmap(NULL, (size_t)page_count * PAGE, PROT_READ, MAP_SHARED, file, 0);
    for (long i = 0; i < words && mapped != MAP_FAILED; i++)
        sum += mapped[i] & 0xff;
    sums[me] = sum;
    if (mapped != MAP_FAILED)
        munmap((void *)mapped, (size_t)page_count * PAGE);
    close(file);
    team_stage_end(me);
    team_clock_end();
}

static bool reader_verify(void)
{
    uint64_t right = 0;

    unlink(FILE_NAME);
    for (long i = 0; i < page_count; i++)
        right += (uint64_t)(i % 251) * (PAGE / sizeof(uint64_t));
    for (int me = 0; me < team_members(); me++) {
        if (sums[me] != right)
            return false;
    }
    return true;
}

static double reader_operations(void)
{
    return (double)page_count * PAGE * team_members();
}

const struct workload workload_reader = {
    "reader", "a file read through mappings", "bytes", reader_setup, reader_run, reader_verify, reader_operations};
