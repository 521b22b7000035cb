/* seenbench: threads on all kernels or CPUs use pages in ways that are hard or easy to see: each its own quarter,
 * stripes of blocks and of pages, few pages of a block, all the same, some more often than others, and one after the
 * other. What is seen of it is compared with what happens: tools/kettle numa accuracy. Prints nothing unless it fails.
 *
 * With --stride one thread goes through the area by that stride instead, a line further in each round, so that each
 * access misses caches that are smaller than the area: their number is known without any trace. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "userland/bench/bench.h"
#include "userland/bench/bench_measure.h"
#include "userland/bench/bench_place.h"
#include "userland/bench/bench_team.h"
#include "userland/help.h"

#define PAGE 4096u
#define LINE 64u
#define BLOCK_PAGES 16u
#define AREA_PAGES 1024u /* 4 MiB */
#define HUGE_BYTES (2u << 20)
#define ROUNDS_DEFAULT 40
#define ROUNDS_MOST 100000
#define TURN 8u     /* rounds after which the users of the last phase change */
#define REST 10000u /* instructions between two rounds, about */
#define OFTEN 8u    /* accesses of the one who uses a page more often */
#define STATUS_FAILED 1

static const char usage[] =
    "usage: seenbench [--rounds N] [--stride BYTES]\n"
    "\n"
    "  --rounds N       of each phase, in each of which a thread uses its pages once (default 40)\n"
    "  --stride BYTES   one phase instead: one thread reads at this distance, a multiple of 64 up to 4 MiB, in each\n"
    "                   round one line further\n";

enum phase { OWN, BLOCKS, PAGES, SPARSE, SHARED, UNEVEN, TURNS, PHASES, STRIDE };

struct work {
    enum phase phase;
    uint32_t index, count; /* of the threads */
    uint32_t rounds;
    uint32_t stride; /* bytes */
};

static uint8_t *area;

/* How often a thread uses PAGE in ROUND. */
static uint32_t uses(const struct work *work, uint32_t page, uint32_t round)
{
    uint32_t own = page * work->count / AREA_PAGES;

    switch (work->phase) {
    case OWN:
        return own == work->index;
    case BLOCKS:
        return page / BLOCK_PAGES % work->count == work->index;
    case PAGES:
        return page % work->count == work->index;
    case SPARSE:
        return own == work->index && page % BLOCK_PAGES == 0;
    case SHARED:
        return 1;
    case UNEVEN:
        return work->index == 0 ? OFTEN : work->index == work->count - 1;
    default:
        return (own + round / TURN) % work->count == work->index;
    }
}

static void go_through(const struct work *work)
{
    for (uint32_t round = 0; round < work->rounds; round++) {
        for (uint32_t at = round * LINE % work->stride; at < AREA_PAGES * PAGE; at += work->stride)
            (void)*(volatile uint8_t *)&area[at];
    }
}

static int work(void *argument)
{
    const struct work *work = argument;

    if (work->phase == STRIDE) {
        go_through(work);
        return 0;
    }
    for (uint32_t round = 0; round < work->rounds; round++) {
        for (uint32_t page = 0; page < AREA_PAGES; page++) {
            for (uint32_t left = uses(work, page, round); left > 0; left--)
                *(volatile uint8_t *)&area[page * PAGE] += 1;
        }
        for (uint32_t left = REST; left > 0; left--)
            __asm__ volatile("");
    }
    return 0;
}

static int run_stride(uint32_t rounds, uint32_t stride)
{
    struct work way = {.phase = STRIDE, .count = 1, .rounds = rounds, .stride = stride};
    struct bench_job job = {0, work, &way};
    int error = bench_team_start(1);

    if (error == 0)
        error = bench_team_run(&job, 0, 1, 1); /* a trace of it begins when the area is there */
    if (error == 0)
        bench_team_end();
    return error;
}

static int run(uint32_t rounds)
{
    struct work works[BENCH_PLACES_MAX];
    struct bench_job jobs[BENCH_PLACES_MAX];
    int count = bench_machine.count, error = bench_team_start(count);

    for (enum phase phase = OWN; error == 0 && phase < PHASES; phase++) {
        for (int i = 0; i < count; i++) {
            works[i] = (struct work){phase, (uint32_t)i, (uint32_t)count, rounds, 0};
            jobs[i] = (struct bench_job){i, work, &works[i]};
        }
        error = bench_team_run(jobs, 0, count, 0);
    }
    if (error == 0)
        bench_team_end();
    return error;
}

int main(int argc, char **argv)
{
    uint64_t rounds = ROUNDS_DEFAULT, stride = 0;
    const struct bench_option options[] = {
        {.name = "--rounds", .number = &rounds, .least = 1, .most = ROUNDS_MOST},
        {.name = "--stride", .number = &stride, .least = LINE, .most = AREA_PAGES * PAGE},
        {.name = NULL},
    };
    uint8_t *all;
    int status;

    if (help_asked(argc, argv, usage))
        return 0;
    status = bench_options_read("seenbench", options, argc - 1, argv + 1);
    if (status == 0 && stride % LINE != 0)
        status = bench_usage_error("seenbench", "--stride needs a multiple of 64", "");
    if (status != 0)
        return status;
    bench_machine_find();
    all = mmap(NULL, AREA_PAGES * PAGE + HUGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) {
        perror("seenbench: mmap");
        return STATUS_FAILED;
    }
    area = all + (HUGE_BYTES - (uintptr_t)all % HUGE_BYTES) % HUGE_BYTES;
    madvise(area, AREA_PAGES * PAGE, MADV_NOHUGEPAGE);
    memset(area, 1, AREA_PAGES * PAGE);
    if ((stride != 0 ? run_stride((uint32_t)rounds, (uint32_t)stride) : run((uint32_t)rounds)) != 0) {
        fprintf(stderr, "seenbench: %s\n", bench_failure());
        return STATUS_FAILED;
    }
    return 0;
}
