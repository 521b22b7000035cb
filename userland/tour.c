/* tour: a program that visits every kernel and comes back, and looks at all of its memory wherever it is.
 *
 * It fills four kinds of memory with a pattern made from a seed, then moves from the kernel it starts on
 * through every other started kernel in ascending order and back the same way. At each stop it checks every
 * word and leaves a mark in every page, which all later stops must find. It prints what each move and each
 * look cost.
 *
 * A page is PAGE_WORDS words. Word S of a page holds the mark of stop S once that stop was made; every other
 * word holds the pattern. So each stop reads every page and writes every page, on whichever kernel it is. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "libc/kettle.h"
#include "userland/help.h"
#include "userland/proc_file.h"

#define PAGE_BYTES 4096
#define PAGE_WORDS (PAGE_BYTES / sizeof(uint64_t))
#define DATA_PAGES 1
#define BSS_PAGES 63
#define HEAP_PAGES 64
#define STACK_PAGES 32
#define MMAP_PAGES 96
#define AREA_COUNT 5

#define KERNELS_LIMIT 64
#define STOPS_MAX (2 * KERNELS_LIMIT - 1)
#define KERNELS_LISTED 10  /* with more kernels the tables are cut or summed up */
#define PLAN_LINES_SHOWN 4 /* from the top of a plan that is cut */
#define DIFFERENCES_SHOWN 5

static_assert(STOPS_MAX < PAGE_WORDS, "every stop has a word of its own in each page");

struct area {
    const char *name;
    uint64_t *words;
    size_t pages;
};

struct stop {
    int kernel;
    uint64_t move_ns; /* of the move that led here; 0 at the first stop */
    uint64_t look_ns; /* checking and marking all memory */
    size_t wrong;     /* words that differed */
};

struct tour {
    uint64_t seed;
    bool kettle; /* moving is possible */
    struct area areas[AREA_COUNT];
    int kernel_count; /* kernels to visit */
    int kernels[KERNELS_LIMIT];
    int stop_count; /* stops made */
    struct stop stops[STOPS_MAX];
    size_t shown; /* differences printed */
};

static const char usage[] = "usage: tour [--seed N]\n"
                            "\n"
                            "Moves through every started kernel and back with about 1 MiB of memory, checks "
                            "and changes all of it at each\n"
                            "stop, and prints what each move cost. Exits with 0 when memory was intact at "
                            "each stop, with 1 when not.\n"
                            "\n"
                            "  first look   reading and writing every page after the first move to a kernel, "
                            "which fetches every mapping\n"
                            "  second look  the same after coming back to it\n";

alignas(PAGE_BYTES) static uint64_t data_words[DATA_PAGES * PAGE_WORDS] = {1};
alignas(PAGE_BYTES) static uint64_t bss_words[BSS_PAGES * PAGE_WORDS];

static uint64_t now_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* A number that depends on every bit of SEED and INDEX. The multiplier is 2^64 over the golden ratio. */
static uint64_t scramble(uint64_t seed, uint64_t index)
{
    uint64_t value = (seed ^ index) * UINT64_C(0x9e3779b97f4a7c15);

    value ^= value >> 29;
    value *= UINT64_C(0x9e3779b97f4a7c15);
    return value ^ value >> 32;
}

/* What WORD of PAGE of area AREA must hold after STOPS stops have left their marks. */
static uint64_t word_expected(uint64_t seed, size_t area, size_t page, size_t word, size_t stops)
{
    uint64_t index = ((uint64_t)area << 40) | (page * PAGE_WORDS + word);

    if (word < stops)
        index |= UINT64_C(1) << 63;
    return scramble(seed, index);
}

static void difference_print(struct tour *tour, const struct area *area, size_t page, size_t word, uint64_t found,
                             uint64_t expected)
{
    if (tour->shown++ >= DIFFERENCES_SHOWN)
        return;
    printf("kernel %d: %s page %zu word %zu at %p holds %016" PRIx64 ", not %016" PRIx64 "\n", kettle_kernel(),
           area->name, page, word, (void *)(area->words + page * PAGE_WORDS + word), found, expected);
}

/* Checks all memory and leaves this stop's mark in every page. */
static void memory_look(struct tour *tour, struct stop *stop, size_t stop_index)
{
    for (size_t i = 0; i < AREA_COUNT; i++) {
        struct area *area = &tour->areas[i];

        for (size_t page = 0; page < area->pages; page++) {
            volatile uint64_t *words = area->words + page * PAGE_WORDS;

            for (size_t word = 0; word < PAGE_WORDS; word++) {
                uint64_t expected = word_expected(tour->seed, i, page, word, stop_index);
                uint64_t found = words[word];

                if (found != expected) {
                    stop->wrong++;
                    difference_print(tour, area, page, word, found, expected);
                }
            }
            words[stop_index] = word_expected(tour->seed, i, page, stop_index, stop_index + 1);
        }
    }
}

static void memory_fill(struct tour *tour)
{
    for (size_t i = 0; i < AREA_COUNT; i++) {
        struct area *area = &tour->areas[i];

        for (size_t page = 0; page < area->pages; page++) {
            for (size_t word = 0; word < PAGE_WORDS; word++)
                area->words[page * PAGE_WORDS + word] = word_expected(tour->seed, i, page, word, 0);
        }
    }
}

static size_t memory_pages(const struct tour *tour)
{
    size_t pages = 0;

    for (size_t i = 0; i < AREA_COUNT; i++)
        pages += tour->areas[i].pages;
    return pages;
}

/* Looks at all memory on KERNEL, after moving there if this is not the first stop. False if it cannot. */
static bool stop_make(struct tour *tour, int kernel)
{
    struct stop *stop = &tour->stops[tour->stop_count];
    uint64_t begin = now_ns();

    stop->kernel = kernel;
    if (tour->stop_count > 0) {
        if (kettle_migrate(kernel) != 0) {
            printf("tour: cannot move from kernel %d to kernel %d: %s\n", kettle_kernel(), kernel, strerror(errno));
            return false;
        }
        stop->move_ns = now_ns() - begin;
    }
    if (kettle_kernel() != kernel) {
        printf("tour: moved to kernel %d and runs on kernel %d\n", kernel, kettle_kernel());
        return false;
    }
    begin = now_ns();
    memory_look(tour, stop, (size_t)tour->stop_count);
    stop->look_ns = now_ns() - begin;
    tour->stop_count++;
    return true;
}

/* Prints the machine's plan. A long one is cut: its head and its last line say how it goes on. */
static void plan_print(const struct tour *tour)
{
    char *text = proc_file_read("/proc/kettle/plan");
    size_t lines = 0;
    size_t line = 0;

    if (text == NULL) {
        puts(tour->kettle ? "There is no /proc/kettle/plan."
                          : "This is no Kettle: there is one kernel, and the tour stays on it.");
        return;
    }
    for (const char *at = text; *at != '\0'; at++)
        lines += *at == '\n';
    for (char *at = strtok(text, "\n"); at != NULL; at = strtok(NULL, "\n"), line++) {
        if (lines <= KERNELS_LISTED + 2 || line < PLAN_LINES_SHOWN || line == lines - 1)
            puts(at);
        else if (line == PLAN_LINES_SHOWN)
            printf("... %zu more lines in /proc/kettle/plan ...\n", lines - PLAN_LINES_SHOWN - 1);
    }
    free(text);
}

/* The stop at which kernel number POSITION of the way out was seen again; -1 for the last, seen only once. */
static int stop_back(const struct tour *tour, int position)
{
    return position == tour->kernel_count - 1 ? -1 : 2 * (tour->kernel_count - 1) - position;
}

static void microseconds_print(bool there, uint64_t nanoseconds)
{
    if (there)
        printf("%14.1f", (double)nanoseconds / 1e3);
    else
        printf("%14s", "-");
}

static void table_head(const char *first)
{
    printf("%-20s%14s%14s%14s%14s\n", first, "move there", "first look", "move back", "second look");
}

static void table_print(const struct tour *tour)
{
    table_head("kernel  node");
    for (int i = 0; i < tour->kernel_count; i++) {
        const struct stop *out = &tour->stops[i];
        int back = stop_back(tour, i);
        const struct stop *home = &tour->stops[back < 0 ? 0 : back];

        printf("%6d%6d%8s", out->kernel, kettle_node(out->kernel), "");
        microseconds_print(i > 0, out->move_ns);
        microseconds_print(true, out->look_ns);
        microseconds_print(back > 0, home->move_ns);
        microseconds_print(back > 0, home->look_ns);
        putchar('\n');
    }
}

static int number_compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

enum column { MOVE_THERE, FIRST_LOOK, MOVE_BACK, SECOND_LOOK, COLUMN_COUNT };

/* Prints a row that sums up the kernels of NODE, or of all nodes when it is -1: medians, or the worst. */
static void summary_row(const struct tour *tour, int node, bool worst)
{
    uint64_t values[COLUMN_COUNT][KERNELS_LIMIT];
    size_t counts[COLUMN_COUNT] = {0};
    int kernels = 0;
    char label[32];

    for (int i = 0; i < tour->kernel_count; i++) {
        const struct stop *out = &tour->stops[i];
        int back = stop_back(tour, i);

        if (node >= 0 && kettle_node(out->kernel) != node)
            continue;
        kernels++;
        values[FIRST_LOOK][counts[FIRST_LOOK]++] = out->look_ns;
        if (i > 0)
            values[MOVE_THERE][counts[MOVE_THERE]++] = out->move_ns;
        if (back > 0) {
            values[MOVE_BACK][counts[MOVE_BACK]++] = tour->stops[back].move_ns;
            values[SECOND_LOOK][counts[SECOND_LOOK]++] = tour->stops[back].look_ns;
        }
    }
    if (kernels == 0)
        return;
    if (node >= 0)
        snprintf(label, sizeof(label), "%4d%9d median", node, kernels);
    else
        snprintf(label, sizeof(label), "%4s%9d %s", "all", kernels, worst ? "worst" : "median");
    printf("%-20s", label);
    for (int column = 0; column < COLUMN_COUNT; column++) {
        size_t count = counts[column];

        qsort(values[column], count, sizeof(values[column][0]), number_compare);
        microseconds_print(count > 0, count == 0 ? 0 : values[column][worst ? count - 1 : count / 2]);
    }
    putchar('\n');
}

/* The table for many kernels: one row a node. */
static void summary_print(const struct tour *tour)
{
    int nodes = 0;

    for (int i = 0; i < tour->kernel_count; i++) {
        int node = kettle_node(tour->kernels[i]);

        nodes = node >= nodes ? node + 1 : nodes;
    }
    table_head("node  kernels");
    if (nodes > 1 && nodes <= KERNELS_LISTED) {
        for (int node = 0; node < nodes; node++)
            summary_row(tour, node, false);
    }
    summary_row(tour, -1, false);
    summary_row(tour, -1, true);
}

/* Says how the tour ended. Returns the exit status. */
static int verdict(const struct tour *tour)
{
    int bad = 0;
    int first = 0;

    for (int i = tour->stop_count - 1; i >= 0; i--) {
        if (tour->stops[i].wrong > 0) {
            bad++;
            first = i;
        }
    }
    if (bad == 0) {
        printf("\nMemory was intact at each of %d stop%s.\n", tour->stop_count, tour->stop_count == 1 ? "" : "s");
        return 0;
    }
    printf("\nMemory differed at %d of %d stops, first on kernel %d (stop %d, %zu words).\n", bad, tour->stop_count,
           tour->stops[first].kernel, first + 1, tour->stops[first].wrong);
    return 1;
}

static void kernels_find(struct tour *tour)
{
    int here = kettle_kernel();

    tour->kernels[tour->kernel_count++] = here;
    for (int kernel = 0; kernel < kettle_kernels() && tour->kernel_count < KERNELS_LIMIT; kernel++) {
        if (kernel != here && kettle_started(kernel) == 1)
            tour->kernels[tour->kernel_count++] = kernel;
    }
}

static int tour_make(struct tour *tour)
{
    alignas(PAGE_BYTES) uint64_t stack_words[STACK_PAGES * PAGE_WORDS];
    uint64_t *heap = malloc(HEAP_PAGES * PAGE_BYTES);
    uint64_t *mapped = mmap(NULL, MMAP_PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int count = tour->kernel_count;

    if (heap == NULL || mapped == MAP_FAILED) {
        printf("tour: no memory: %s\n", strerror(errno));
        return 1;
    }
    tour->areas[0] = (struct area){"data", data_words, DATA_PAGES};
    tour->areas[1] = (struct area){"bss", bss_words, BSS_PAGES};
    tour->areas[2] = (struct area){"heap", heap, HEAP_PAGES};
    tour->areas[3] = (struct area){"stack", stack_words, STACK_PAGES};
    tour->areas[4] = (struct area){"mmap", mapped, MMAP_PAGES};
    memory_fill(tour);
    if (count == 1)
        printf("\nOn one kernel");
    else
        printf("\nThrough %d kernels and back", count);
    printf(" with %zu KiB of memory: globals, heap, stack, mmap (seed %" PRIu64 "; times in us)\n",
           memory_pages(tour) * PAGE_BYTES / 1024, tour->seed);
    fflush(stdout);
    for (int i = 0; i < count; i++) {
        if (!stop_make(tour, tour->kernels[i]))
            return 1;
    }
    for (int i = count - 2; i >= 0; i--) {
        if (!stop_make(tour, tour->kernels[i]))
            return 1;
    }
    if (count <= KERNELS_LISTED)
        table_print(tour);
    else
        summary_print(tour);
    munmap(mapped, MMAP_PAGES * PAGE_BYTES);
    free(heap);
    return verdict(tour);
}

static bool seed_parse(const char *text, uint64_t *seed)
{
    char *end;

    errno = 0;
    *seed = strtoull(text, &end, 0);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

int main(int argc, char **argv)
{
    static struct tour tour = {.seed = 1};

    if (help_asked(argc, argv, usage))
        return 0;
    if (argc != 1 && (argc != 3 || strcmp(argv[1], "--seed") != 0 || !seed_parse(argv[2], &tour.seed))) {
        fputs("tour: takes nothing or --seed and a number; try tour --help\n", stderr);
        return 2;
    }
    tour.kettle = kettle_migrate(kettle_kernel()) == 0 || errno != ENOSYS;
    plan_print(&tour);
    kernels_find(&tour);
    return tour_make(&tour);
}
