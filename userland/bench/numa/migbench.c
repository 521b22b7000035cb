/* migbench: what it costs to move pages between nodes, after the experiments of a thesis on page migration: mbind by
 * the thread that touched the pages and by another one, and move_pages by a thread on another node, to one node and to
 * each page's next node, of pages that lie on the first node or interleaved on all. A thread for each CPU or kernel is
 * bound to it and sleeps meanwhile. Run it with tools/kettle run --numa-model or --count: it prints which region is
 * which move.
 *
 * Runs unchanged on Kettle and on Linux, but for the ways `lazy`, which Linux refuses: mbind marks the pages, and a
 * thread on the last node reads each page once, so that it moves there; and the same reads when nothing moves. So are
 * the ways `replicate` Kettle's alone: a thread on the last node reads the pages, they are replicated, and it reads
 * them again, which makes its copies.
 *
 * The ways `cost` move nothing: the program itself copies the pages to others that are on the last node, or takes away
 * the right to write them, which changes an entry of each. This is what moving a page costs at the least. `cost.where`
 * is move_pages without nodes, which only asks where each page is. */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libc/numa.h"
#include "userland/bench/bench.h"
#include "userland/bench/bench_measure.h"
#include "userland/bench/bench_place.h"
#include "userland/bench/bench_team.h"
#include "userland/bench/mark.h"
#include "userland/help.h"

#define PAGES_MOST 200000
#define MPOL_BIND 2
#define MPOL_INTERLEAVE 3
#define MPOL_MF_MOVE 2
#define MPOL_MF_LAZY 8
#define MADV_SMALL 15 /* MADV_NOHUGEPAGE */
#define PAGES_DEFAULT 1000
#define STATUS_FAILED 1

static const char usage[] = "usage: migbench [--json] [--pages N] [--way NAME]\n"
                            "\n"
                            "Moves pages between nodes by mbind and move_pages.\n"
                            "\n"
                            "  --pages N   that many, 2 to 200000 (default 1000)\n"
                            "  --way NAME  only the ways whose names match the pattern, as 'mbind.*.interleaved';\n"
                            "              'lazy.*', 'replicate.*' are Kettle's alone, and left out unless the\n"
                            "              pattern begins with this word\n"
                            "  --json      a JSON object for each move; otherwise a line\n";

enum call {
    CALL_MBIND,
    CALL_MOVE_PAGES,
    CALL_COPY,
    CALL_PROTECT,
    CALL_WHERE,
    CALL_MARK,
    CALL_READ,
    CALL_MAP,
    CALL_REPLICATE
};

/* A way to move pages. */
struct way {
    const char *name;
    enum call call;
    bool other;       /* the caller is on another node than the pages' */
    bool distributed; /* each page to the next node, not all to the last one */
    bool interleaved; /* at first */
};

static const struct way ways[] = {
    {"mbind.master.default", CALL_MBIND, false, false, false},
    {"mbind.master.interleaved", CALL_MBIND, false, false, true},
    {"mbind.other.default", CALL_MBIND, true, false, false},
    {"mbind.other.interleaved", CALL_MBIND, true, false, true},
    {"move_pages.one.default", CALL_MOVE_PAGES, true, false, false},
    {"move_pages.one.interleaved", CALL_MOVE_PAGES, true, false, true},
    {"move_pages.distributed.default", CALL_MOVE_PAGES, true, true, false},
    {"move_pages.distributed.interleaved", CALL_MOVE_PAGES, true, true, true},
    {"cost.copy.master.default", CALL_COPY, false, false, false},
    {"cost.copy.master.interleaved", CALL_COPY, false, false, true},
    {"cost.copy.other.default", CALL_COPY, true, false, false},
    {"cost.copy.other.interleaved", CALL_COPY, true, false, true},
    {"cost.entry.master.default", CALL_PROTECT, false, false, false},
    {"cost.entry.master.interleaved", CALL_PROTECT, false, false, true},
    {"cost.where.master.interleaved", CALL_WHERE, false, false, true},
    {"cost.where.other.interleaved", CALL_WHERE, true, false, true},
    {"lazy.mark.default", CALL_MARK, false, false, false},
    {"lazy.read.default", CALL_READ, true, false, false},  /* of the pages that the way before has marked */
    {"lazy.again.default", CALL_READ, true, false, false}, /* by the same thread, of the same pages */
    {"lazy.mark.interleaved", CALL_MARK, false, false, true},
    {"lazy.read.interleaved", CALL_READ, true, false, true},
    {"lazy.again.interleaved", CALL_READ, true, false, true},
    {"replicate.map.default", CALL_MAP, true, false, false},
    {"replicate.all.default", CALL_REPLICATE, false, false, false},
    {"replicate.read.default", CALL_READ, true, false, false},
};
#define WAY_COUNT (sizeof(ways) / sizeof(ways[0]))

static const struct way *way;
static uint32_t page_count;
static char *pages;
static char *copies; /* of the pages, on the last node */
static void *addresses[PAGES_MOST];
static int targets[PAGES_MOST];
static int status[PAGES_MOST];
static int nodes[BENCH_PLACES_MAX]; /* the numbers of the machine's nodes, in order */
static int node_count;

static unsigned long mask_of(int node)
{
    return 1ul << node;
}

static long bind_pages(int mode, unsigned long mask, unsigned flags)
{
    return syscall(SYS_mbind, pages, (size_t)page_count * BENCH_PAGE, mode, &mask, 8 * sizeof(mask) + 1, flags);
}

/* Memory on the last node that the caller is the first to touch, for copies. */
static int touch_copies(void)
{
    unsigned long mask = mask_of(nodes[node_count - 1]);
    size_t bytes = (size_t)page_count * BENCH_PAGE;

    copies = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copies == MAP_FAILED)
        return bench_failed("memory for copies", errno);
    if (madvise(copies, bytes, MADV_SMALL) != 0 ||
        syscall(SYS_mbind, copies, bytes, MPOL_BIND, &mask, 8 * sizeof(mask) + 1, 0) != 0)
        return bench_failed("mbind of copies", errno);
    for (size_t at = 0; at < bytes; at += BENCH_PAGE)
        copies[at] = 1;
    return 0;
}

static int nothing(void *unused)
{
    (void)unused;
    return 0;
}

/* The master's part: memory that it is the first to touch. */
static int touch(void *unused)
{
    unsigned long all = 0;

    (void)unused;
    pages = mmap(NULL, (size_t)page_count * BENCH_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return bench_failed("memory", errno);
    if (madvise(pages, (size_t)page_count * BENCH_PAGE, MADV_SMALL) != 0)
        return bench_failed("madvise", errno);
    for (int i = 0; i < node_count; i++)
        all |= mask_of(nodes[i]);
    if (way->interleaved && bind_pages(MPOL_INTERLEAVE, all, 0) != 0)
        return bench_failed("mbind to interleave", errno);
    for (uint32_t i = 0; i < page_count; i++) {
        pages[(size_t)i * BENCH_PAGE] = 1;
        addresses[i] = pages + (size_t)i * BENCH_PAGE;
        targets[i] = way->distributed ? nodes[(i + 1) % (uint32_t)node_count] : nodes[node_count - 1];
    }
    return way->call == CALL_COPY ? touch_copies() : 0;
}

static bool reads(void)
{
    return way->call == CALL_READ || way->call == CALL_MAP;
}

/* The way goes on with the pages of the way before. */
static bool continues(void)
{
    return way->call == CALL_READ || way->call == CALL_REPLICATE;
}

/* Sets status to the node of each page. -1: errno says why. */
static int ask(void)
{
    return (int)syscall(SYS_move_pages, 0, page_count, addresses, NULL, status, 0);
}

static int move(void *unused)
{
    unsigned lazy = way->call == CALL_MARK ? MPOL_MF_LAZY : 0;

    (void)unused;
    if (way->call == CALL_REPLICATE) {
        long count = kettle_block_replicate(pages, (size_t)page_count * BENCH_PAGE);

        return count == (long)page_count ? 0 : bench_failed("replicating", count < 0 ? errno : EIO);
    }
    if (way->call == CALL_COPY) {
        for (size_t i = 0; i < page_count; i++)
            memcpy(copies + i * BENCH_PAGE, pages + i * BENCH_PAGE, BENCH_PAGE);
        return 0;
    }
    if (way->call == CALL_PROTECT)
        return mprotect(pages, (size_t)page_count * BENCH_PAGE, PROT_READ) == 0 ? 0 : bench_failed("mprotect", errno);
    if (way->call == CALL_WHERE)
        return ask() == 0 ? 0 : bench_failed("move_pages without nodes", errno);
    if (reads()) {
        for (uint32_t i = 0; i < page_count; i++)
            (void)*(volatile char *)(pages + (size_t)i * BENCH_PAGE);
        return 0;
    }
    if (way->call != CALL_MOVE_PAGES) {
        if (bind_pages(MPOL_BIND, mask_of(nodes[node_count - 1]), MPOL_MF_MOVE | lazy) != 0)
            return bench_failed("mbind", errno);
        return 0;
    }
    /* As there, from the second page on. */
    if (syscall(SYS_move_pages, 0, page_count - 1, addresses + 1, targets + 1, status, MPOL_MF_MOVE) != 0)
        return bench_failed("move_pages", errno);
    return 0;
}

/* The pages that are not where they were to go, -1 when the kernel does not say; none where nothing was to go. */
static long misplaced_count(void)
{
    uint32_t first = way->call == CALL_MOVE_PAGES ? 1 : 0;
    long misplaced = 0;

    if (way->call == CALL_COPY || way->call == CALL_PROTECT || way->call == CALL_WHERE)
        return 0;
    if (ask() != 0)
        return -1;
    for (uint32_t i = first; i < page_count; i++)
        misplaced += status[i] != targets[i];
    return misplaced;
}

/* A place on the last node. */
static int last_place(void)
{
    int place = bench_machine.count - 1;

    while (place > 0 && bench_machine.places[place].node != nodes[node_count - 1])
        place--;
    return place;
}

static int run(unsigned region, int other_place, bool json)
{
    struct bench_job job = {.place = 0, .work = touch};
    int caller = reads() ? last_place() : way->other ? other_place : 0;
    int error = 0;
    long misplaced;

    if (!continues()) {
        if (pages != NULL)
            munmap(pages, (size_t)page_count * BENCH_PAGE);
        error = bench_team_run(&job, 0, 1, 0);
    } else if (pages == NULL) {
        return bench_failed("a way without the one before it", EINVAL);
    }

    job = (struct bench_job){.place = caller, .work = move};
    if (error == 0)
        error = bench_team_run(&job, caller, 1, region);
    if (error != 0)
        return error;
    misplaced = misplaced_count();
    if (copies != NULL)
        munmap(copies, (size_t)page_count * BENCH_PAGE);
    copies = NULL;
    if (json) {
        printf("{\"case\": \"%s.%" PRIu32 "\", \"way\": \"%s\", \"count\": %" PRIu32
               ", \"region\": %u, \"places\": %d, "
               "\"nodes\": %d, \"misplaced\": %ld}\n",
               way->name, page_count, way->name, page_count, region, bench_machine.count, node_count, misplaced);
    } else {
        printf("%6u  %-36s%10" PRIu32 "%10ld\n", region, way->name, page_count, misplaced);
    }
    fflush(stdout);
    return 0;
}

/* A place on the node that is five nodes on, or as far as there are, and the nodes. */
static int machine_look(void)
{
    int other = 0;

    for (int place = 0; place < bench_machine.count; place++) {
        int node = bench_machine.places[place].node;
        bool known = false;

        for (int i = 0; i < node_count; i++)
            known |= nodes[i] == node;
        if (!known) {
            nodes[node_count++] = node;
            if (node_count <= 6)
                other = place;
        }
    }
    return other;
}

/* PATTERN is NULL: all that Linux has, too. A pattern that is given to both systems may begin with a wildcard, so ways
 * that are Kettle's alone are chosen by their first word only. */
static bool chosen(const char *pattern)
{
    if (pattern == NULL)
        return way->call < CALL_MARK;
    return fnmatch(pattern, way->name, 0) == 0 &&
           (way->call < CALL_MARK || strncmp(pattern, way->name, strcspn(way->name, ".")) == 0);
}

static int run_all(int other_place, const char *pattern, bool json)
{
    struct bench_job jobs[BENCH_PLACES_MAX];
    unsigned region = 1;
    int error;

    for (int i = 0; i < bench_machine.count; i++)
        jobs[i] = (struct bench_job){.place = i, .work = nothing};
    error = bench_team_run(jobs, 0, bench_machine.count, 0);
    for (size_t i = 0; i < WAY_COUNT && error == 0; i++) {
        way = &ways[i];
        if (chosen(pattern))
            error = run(region++, other_place, json);
    }
    return error;
}

int main(int argc, char **argv)
{
    bool json = false;
    uint64_t asked = PAGES_DEFAULT;
    char *pattern = NULL;
    const struct bench_option options[] = {
        {.name = "--json", .flag = &json},
        {.name = "--way", .text = &pattern},
        {.name = "--pages", .number = &asked, .least = 2, .most = PAGES_MOST},
        {.name = NULL},
    };
    int other_place;
    int error;

    if (help_asked(argc, argv, usage))
        return 0;
    error = bench_options_read("migbench", options, argc - 1, argv + 1);
    if (error != 0)
        return error;
    page_count = (uint32_t)asked;
    bench_machine_find();
    other_place = machine_look();
    if (node_count < 2) {
        fprintf(stderr, "migbench: needs CPUs on two nodes; this machine has %d\n", node_count);
        return STATUS_FAILED;
    }
    mark_begin(0); /* the model begins */
    mark_end(0);
    error = bench_team_start(bench_machine.count);
    if (error == 0)
        error = run_all(other_place, pattern, json);
    if (error != 0) {
        fprintf(stderr, "migbench: %s: %s\n", bench_failure(), strerror(error));
        return STATUS_FAILED;
    }
    bench_team_end();
    return 0;
}
