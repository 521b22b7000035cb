/* movebench: all pages go round all nodes while others use them. Eight writers, on one place after the other, leave a
 * count and a checksum of it in a line of their own in every page; readers, each at a place of its own, check them and
 * time each access. At the end each line must have what its writer wrote last. A reader that waited for a copy would
 * have taken a fault, and none may (mm/move/move.md): faults are counted for each reader, from when its kernel has
 * mapped all that it uses. Times are told, and judge nothing: they are the emulator's and its host's as well.
 *
 * Runs unchanged on Kettle and on Linux, which has readers wait: there their faults are told, and no failure. */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#include "userland/bench/bench.h"
#include "userland/bench/bench_measure.h"
#include "userland/bench/bench_place.h"
#include "userland/help.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define PAGES 96
#define WRITERS 8
#define READERS 4
#define WRITES_STAYING 4096 /* at one place, for a writer */
#define LINE_WORDS 8
#define SECONDS_DEFAULT 60
#define SECONDS_MOST 86400
#define ROUNDS_MOST 1000000000
#define NODES_MOST 64
#define MOVE 2    /* MPOL_MF_MOVE */
#define ALLOWED 4 /* MPOL_F_MEMS_ALLOWED */
#define FACTOR 0x9e3779b97f4a7c15ul
#define INVERSE 0xf1de83e19937733dul /* of FACTOR modulo 2^64 */
#define BUCKETS 64
#define STATUS_FAILED 1

_Static_assert(FACTOR *INVERSE == 1, "a checksum says of which count it is");

static const char usage[] = "usage: movebench [--json] [--seconds N | --rounds N]\n"
                            "\n"
                            "Moves pages round all nodes while threads write and read them, and checks them.\n"
                            "\n"
                            "  --seconds N  for so long, 1 to 86400 (default 60)\n"
                            "  --rounds N   so many times, 1 to 1000000000, however long that takes\n"
                            "  --json       a JSON object; otherwise lines\n"
                            "\n"
                            "Fails if a write is lost, a read is wrong, or a reader took a fault.\n";

struct line {
    _Alignas(64) atomic_ulong count;
    atomic_ulong mark;
};

struct page {
    struct line line[BENCH_PAGE / sizeof(struct line)];
};
_Static_assert(sizeof(struct page) == BENCH_PAGE, "a page");

struct reader {
    unsigned long seen[PAGES][WRITERS];
    uint64_t times[BUCKETS]; /* accesses that took less than 2^i counts of the time stamp counter */
    uint64_t reads, wrong, longest;
    long faults;
};

struct writer {
    unsigned long written[PAGES];
    uint64_t writes, wrong;
    long faults;
};

static struct page *pages;
static struct reader readers[READERS];
static struct writer writers[WRITERS];
static int nodes[NODES_MOST], node_count; /* those with memory */
static atomic_int arrived, measured;      /* threads */
static atomic_bool begun, over;
static uint64_t moved, refused, rounds;

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static unsigned long mark_of(long page, long writer, unsigned long count)
{
    return (count * FACTOR) ^ (unsigned long)(page * WRITERS + writer);
}

static unsigned long count_of(long page, long writer, unsigned long mark)
{
    return (mark ^ (unsigned long)(page * WRITERS + writer)) * INVERSE;
}

/* The calling thread's, on all kernels that it has been on. */
static long faults_now(void)
{
    struct rusage use;

    memset(&use, 0, sizeof(use));
    x86_syscall(SYS_getrusage, RUSAGE_THREAD, (long)&use, 0, 0, 0, 0);
    return use.ru_minflt + use.ru_majflt;
}

static void note_time(struct reader *self, uint64_t took)
{
    self->times[took == 0 ? 0 : 64 - __builtin_clzl(took) < BUCKETS ? 64 - __builtin_clzl(took) : BUCKETS - 1]++;
    if (took > self->longest)
        self->longest = took;
}

/* The first of the three loads is the access that may find the page moving. The checksum is of a count between that
 * before the last one, whose writer may be between its two stores, and the one that is there afterwards. */
static void read_line(struct reader *self, long page, long writer)
{
    const struct line *line = &pages[page].line[writer];
    unsigned long before, mark, after, sum;
    uint64_t start;

    _mm_lfence();
    start = __rdtsc();
    before = atomic_load(&line->count);
    _mm_lfence();
    note_time(self, __rdtsc() - start);
    mark = atomic_load(&line->mark);
    after = atomic_load(&line->count);
    sum = count_of(page, writer, mark);
    if (before < self->seen[page][writer] || sum + 1 < before || sum > after || after < before)
        self->wrong++;
    self->seen[page][writer] = after;
    self->reads++;
}

static void read_all(struct reader *self)
{
    for (long i = 0; i < PAGES; i++) {
        for (long k = 0; k < WRITERS; k++)
            read_line(self, i, k);
    }
}

static void reader(struct thread *thread)
{
    struct reader *self = &readers[thread->index];
    uint64_t state = 77 + (uint64_t)thread->index;
    int place = (1 + thread->index) % bench_machine.count;
    int error = bench_move(HOW_USUAL, place);
    long before;

    read_all(self);
    faults_now(); /* has all mapped that it uses, for the time when it counts */
    atomic_fetch_add(&arrived, 1);
    while (!atomic_load(&begun)) {
        uint64_t next = random_next(&state);

        read_line(self, (long)(next % PAGES), (long)((next >> 32) % WRITERS));
        x86_pause();
    }
    memset(self->times, 0, sizeof(self->times));
    self->longest = self->reads = 0;
    before = faults_now();
    atomic_fetch_add(&measured, 1);
    while (!atomic_load(&over)) {
        uint64_t next = random_next(&state);

        read_line(self, (long)(next % PAGES), (long)((next >> 32) % WRITERS));
        x86_pause();
    }
    self->faults = faults_now() - before;
    atomic_store(&thread->result, error);
}

static void write_line(struct writer *self, long page, long writer)
{
    struct line *line = &pages[page].line[writer];
    unsigned long count = atomic_load(&line->count);

    if (count != self->written[page] || atomic_load(&line->mark) != mark_of(page, writer, count))
        self->wrong++;
    atomic_store(&line->count, ++count);
    atomic_store(&line->mark, mark_of(page, writer, count));
    self->written[page] = count;
    self->writes++;
}

static void writer(struct thread *thread)
{
    struct writer *self = &writers[thread->index];
    uint64_t state = 1 + (uint64_t)thread->index;
    int error = 0;
    long before = faults_now();

    atomic_fetch_add(&arrived, 1);
    for (uint64_t i = 0; !atomic_load(&over); i++) {
        if (i % WRITES_STAYING == 0) {
            int moving = bench_move(HOW_USUAL, (int)(random_next(&state) % (uint64_t)bench_machine.count));

            error = error != 0 ? error : moving;
        }
        write_line(self, (long)(random_next(&state) % PAGES), thread->index);
        x86_pause();
    }
    self->faults = faults_now() - before;
    atomic_store(&thread->result, error);
}

/* All pages, page i to the node that is (ROUND + i / STEP) places on. */
static int move_round(uint64_t round)
{
    static void *addresses[PAGES];
    static int wanted[PAGES], status[PAGES], before[PAGES];
    uint64_t step = 1 + round % 7;

    for (uint64_t i = 0; i < PAGES; i++) {
        addresses[i] = &pages[i];
        wanted[i] = nodes[(round + i / step) % (uint64_t)node_count];
    }
    if (syscall(SYS_move_pages, 0, PAGES, addresses, NULL, before, 0) != 0 ||
        syscall(SYS_move_pages, 0, PAGES, addresses, wanted, status, MOVE) != 0)
        return bench_failed("move_pages", errno);
    for (uint64_t i = 0; i < PAGES; i++) {
        moved += status[i] == wanted[i] && before[i] != wanted[i];
        refused += status[i] != wanted[i];
    }
    rounds++;
    return 0;
}

static void nodes_find(void)
{
    unsigned long mask = 0;

    syscall(SYS_get_mempolicy, NULL, &mask, NODES_MOST + 1, NULL, ALLOWED);
    for (int node = 0; node < NODES_MOST; node++) {
        if ((mask >> node & 1) != 0)
            nodes[node_count++] = node;
    }
}

static int prepare(void)
{
    pages = mmap(NULL, sizeof(struct page) * PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return bench_failed("memory", errno);
    for (long i = 0; i < PAGES; i++) {
        for (long k = 0; k < WRITERS; k++)
            atomic_store(&pages[i].line[k].mark, mark_of(i, k, 0));
    }
    return bench_visit_all();
}

static void wait_for(atomic_int *value, int goal)
{
    while (atomic_load(value) < goal)
        sched_yield();
}

/* Moves pages for NS, or ROUND_LIMIT times if that is not 0. */
static int run(uint64_t ns, uint64_t round_limit)
{
    static struct thread threads[WRITERS + READERS];
    int count = WRITERS + READERS, error = 0;
    uint64_t start;

    for (int i = 0; i < count; i++) {
        threads[i].index = i < WRITERS ? i : i - WRITERS;
        if (!thread_start(&threads[i], i < WRITERS ? writer : reader))
            return bench_failed("a thread", errno);
    }
    wait_for(&arrived, count);
    error = move_round(0); /* what else the threads need is there afterwards */
    atomic_store(&begun, true);
    wait_for(&measured, READERS);
    moved = refused = rounds = 0;
    start = bench_now();
    while (error == 0 && (round_limit != 0 ? rounds < round_limit : bench_now() - start < ns))
        error = move_round(rounds + 1);
    atomic_store(&over, true);
    for (int i = 0; i < count; i++) {
        if (!thread_join(&threads[i]))
            return bench_failed("the end of a thread", ETIMEDOUT);
        if (error == 0 && atomic_load(&threads[i].result) != 0)
            error = bench_failed("a thread's move", (int)atomic_load(&threads[i].result));
    }
    return error;
}

struct sums {
    uint64_t writes, writes_wrong, lost, reads, reads_wrong, longest;
    long reader_faults, writer_faults;
    uint64_t times[BUCKETS];
};

static void sum_up(struct sums *sums)
{
    for (int k = 0; k < WRITERS; k++) {
        sums->writes += writers[k].writes;
        sums->writes_wrong += writers[k].wrong;
        sums->writer_faults += writers[k].faults;
        for (long i = 0; i < PAGES; i++) {
            unsigned long count = atomic_load(&pages[i].line[k].count);

            sums->lost += count != writers[k].written[i] || atomic_load(&pages[i].line[k].mark) != mark_of(i, k, count);
        }
    }
    for (int i = 0; i < READERS; i++) {
        sums->reads += readers[i].reads;
        sums->reads_wrong += readers[i].wrong;
        sums->reader_faults += readers[i].faults;
        if (readers[i].longest > sums->longest)
            sums->longest = readers[i].longest;
        for (int b = 0; b < BUCKETS; b++)
            sums->times[b] += readers[i].times[b];
    }
}

/* The power of two of counts below which PART of a million of accesses took. */
static uint64_t quantile(const struct sums *sums, uint64_t part)
{
    uint64_t left = sums->reads / 1000000 * part + sums->reads % 1000000 * part / 1000000;
    int bucket = 0;

    while (bucket < BUCKETS - 1 && left >= sums->times[bucket])
        left -= sums->times[bucket++];
    return 1ull << bucket;
}

static int report(uint64_t took, uint64_t counts, bool json)
{
    static struct sums sums;
    uint64_t median, rare, longest;

    sum_up(&sums);
    median = (uint64_t)((double)quantile(&sums, 500000) * (double)took / (double)counts);
    rare = (uint64_t)((double)quantile(&sums, 999990) * (double)took / (double)counts);
    longest = (uint64_t)((double)sums.longest * (double)took / (double)counts);
    if (json)
        printf("{\"case\": \"round\", \"count\": %" PRIu64 ", \"region\": 0, \"places\": %d, \"nodes\": %d, "
               "\"readers\": %d, \"duration\": %" PRIu64 ", \"rounds\": %" PRIu64 ", \"refused\": %" PRIu64
               ", \"writes\": %" PRIu64 ", \"lost\": %" PRIu64 ", \"reads\": %" PRIu64 ", \"wrong\": %" PRIu64
               ", \"reader_faults\": %ld, \"writer_faults\": %ld, \"median_ns\": %" PRIu64 ", \"rare_ns\": %" PRIu64
               ", \"longest_ns\": %" PRIu64 "}\n",
               moved, bench_machine.count, node_count, READERS, took, rounds, refused, sums.writes, sums.lost,
               sums.reads, sums.reads_wrong + sums.writes_wrong, sums.reader_faults, sums.writer_faults, median, rare,
               longest);
    else
        printf("%" PRIu64 " pages moved in %" PRIu64 " rounds, %" PRIu64 " times a page stayed\n"
               "%" PRIu64 " writes, %" PRIu64 " lines lost, %ld faults of writers\n"
               "%" PRIu64 " reads, %" PRIu64 " lines wrong, %ld faults of readers\n"
               "an access took less than %" PRIu64 " ns, of 100,000 all but one less than %" PRIu64
               ", and the longest %" PRIu64 "\n",
               moved, rounds, refused, sums.writes, sums.lost, sums.writer_faults, sums.reads,
               sums.reads_wrong + sums.writes_wrong, sums.reader_faults, median, rare, longest);
    fflush(stdout);
    if (sums.lost == 0 && sums.reads_wrong + sums.writes_wrong == 0 &&
        (sums.reader_faults == 0 || !bench_machine.kettle))
        return 0;
    fprintf(stderr, "movebench: %" PRIu64 " lines are lost, %" PRIu64 " were wrong, and readers took %ld faults\n",
            sums.lost, sums.reads_wrong + sums.writes_wrong, sums.reader_faults);
    return STATUS_FAILED;
}

int main(int argc, char **argv)
{
    bool json = false;
    uint64_t seconds = SECONDS_DEFAULT, round_limit = 0, start, counts;
    const struct bench_option options[] = {
        {.name = "--json", .flag = &json},
        {.name = "--seconds", .number = &seconds, .least = 1, .most = SECONDS_MOST},
        {.name = "--rounds", .number = &round_limit, .least = 1, .most = ROUNDS_MOST},
        {.name = NULL},
    };
    int error;

    if (help_asked(argc, argv, usage))
        return 0;
    error = bench_options_read("movebench", options, argc - 1, argv + 1);
    if (error != 0)
        return error;
    bench_machine_find();
    nodes_find();
    if (node_count < 2) {
        fprintf(stderr, "movebench: needs two nodes; this machine has %d\n", node_count);
        return STATUS_FAILED;
    }
    error = prepare();
    start = bench_now();
    counts = __rdtsc();
    if (error == 0)
        error = run(seconds * 1000000000, round_limit);
    counts = __rdtsc() - counts;
    if (error != 0) {
        fprintf(stderr, "movebench: %s: %s\n", bench_failure(), strerror(error));
        return STATUS_FAILED;
    }
    return report(bench_now() - start, counts, json);
}
