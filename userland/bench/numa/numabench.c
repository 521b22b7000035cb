/* numabench: traversals of shuffled lists in memory of the same and of other nodes, after the two sequences of a thesis
 * on NUMA in Barrelfish, and a map of latencies between CPUs. It prints which region of tools/kettle run --numa-model
 * is which traversal; the cycles of an element are the model's.
 *
 * Runs unchanged on Kettle and on Linux. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "userland/bench/bench.h"
#include "userland/bench/bench_team.h"
#include "userland/bench/mark.h"
#include "userland/bench/numa/numabench.h"
#include "userland/help.h"

#define ELEMENTS_DEFAULT 4096
#define ELEMENTS_LEAST 64
#define ELEMENTS_MOST (1u << 24)
#define REPEAT_DEFAULT 10
#define PASSES_MOST 1000000
#define REGIONS_MAX 255
#define MIXED_STEP 10
#define MAP_ELEMENTS 64
#define NAME_SIZE 48
#define STATUS_FAILED 1

static const char usage[] =
    "usage: numabench [--json] [--sequence NAME] [--elements N] [--passes N] [--repeat N]\n"
    "                 [--seed N] [--small]\n"
    "\n"
    "Traverses shuffled lists, a cache line an element: run it with tools/kettle run --numa-model.\n"
    "\n"
    "  --sequence NAME   sequential: one thread, on the node of the list, then on another one, twice\n"
    "                    cross: a thread for each CPU or kernel, and a list on each node: all threads and their list "
    "on\n"
    "                      the first node; the first node's list for all; from 0 to 100 percent of the next node's; "
    "the\n"
    "                      next node's list\n"
    "                    apart: the first node's list for a thread on each node, of which all but the first may move\n"
    "                    map: a list that each CPU or kernel has written, read by each\n"
    "                    all: the first two (the default)\n"
    "  --elements N      length of each list (default 4096)\n"
    "  --passes N        how often each traversal goes through its list (default 1)\n"
    "  --repeat N        how often, with other orders (default 10)\n"
    "  --seed N          of the first order (default 1)\n"
    "  --small           lists in pages of 4 KiB, and in no large ones\n"
    "  --json            a JSON object for each traversal; otherwise a line\n";

struct arguments {
    bool json;
    bool small;
    bool sequential;
    bool cross;
    bool apart;
    bool map;
    uint64_t elements;
    uint64_t passes;
    uint64_t repeat;
    uint64_t seed;
};

/* What a thread does: REMOTE of 100 elements of the list's length it takes from AWAY instead. */
struct traversal {
    int place;
    const struct numabench_list *list;
    const struct numabench_list *away;
    uint32_t remote; /* percent */
    bool write;
    bool free; /* it may move once it has begun, where the system moves threads */
    int start; /* of the lists' */
};

struct making {
    struct numabench_list *list;
    uint64_t seed;
};

static struct arguments arguments = {
    .sequential = true, .cross = true, .elements = ELEMENTS_DEFAULT, .passes = 1, .repeat = REPEAT_DEFAULT, .seed = 1};
static unsigned next_region = 1;
static struct numabench_list lists[BENCH_PLACES_MAX]; /* of each node */
static int node_places[BENCH_PLACES_MAX];             /* a place on each node, the first one's first */
static int node_count;

static bool sequence_choose(const char *name)
{
    bool all = strcmp(name, "all") == 0;

    arguments.sequential = all || strcmp(name, "sequential") == 0;
    arguments.cross = all || strcmp(name, "cross") == 0;
    arguments.apart = strcmp(name, "apart") == 0;
    arguments.map = strcmp(name, "map") == 0;
    return arguments.sequential || arguments.cross || arguments.apart || arguments.map;
}

/* Returns 0, or the exit status after saying what is wrong. */
static int arguments_parse(int argc, char **argv)
{
    char *sequence = NULL;
    const struct bench_option options[] = {
        {.name = "--json", .flag = &arguments.json},
        {.name = "--small", .flag = &arguments.small},
        {.name = "--sequence", .text = &sequence},
        {.name = "--elements", .number = &arguments.elements, .least = ELEMENTS_LEAST, .most = ELEMENTS_MOST},
        {.name = "--passes", .number = &arguments.passes, .least = 1, .most = PASSES_MOST},
        {.name = "--repeat", .number = &arguments.repeat, .least = 1, .most = REGIONS_MAX},
        {.name = "--seed", .number = &arguments.seed, .most = UINT64_MAX / 2},
        {.name = NULL},
    };
    int status = bench_options_read("numabench", options, argc - 1, argv + 1);

    if (status == 0 && sequence != NULL && !sequence_choose(sequence))
        status = bench_usage_error("numabench", "--sequence needs sequential, cross, apart, map or all", sequence);
    return status;
}

static int traverse(void *argument)
{
    const struct traversal *way = argument;
    uint32_t away = (uint32_t)((uint64_t)way->list->length * way->remote / 100);
    struct numabench_element *(*follow)(struct numabench_element *, uint32_t) = way->write ? numabench_write
                                                                                           : numabench_read;
    int error = way->free ? bench_unbind() : 0;

    for (uint32_t pass = 0; pass < arguments.passes; pass++) {
        follow(way->list->starts[way->start], way->list->length - away);
        if (away != 0)
            follow(way->away->starts[way->start], away);
    }
    return error;
}

static int make(void *argument)
{
    const struct making *making = argument;

    return numabench_list_make(making->list, arguments.elements, making->seed, arguments.small);
}

/* One thread for each of WAYS, all at once, in REGION. They begin at different elements: one that followed another
 * closely would find all in the node's cache, or nothing, by how the emulator lets CPUs take turns. */
static int traverse_all(struct traversal *ways, int count, unsigned region)
{
    struct bench_job jobs[BENCH_PLACES_MAX];

    for (int i = 0; i < count; i++) {
        ways[i].start = i * NUMABENCH_STARTS / count;
        jobs[i] = (struct bench_job){.place = ways[i].place, .work = traverse, .argument = &ways[i]};
    }
    return bench_team_run(jobs, 0, count, region);
}

static void told(const char *name, unsigned repetition, unsigned region, int threads, uint64_t elements, long misplaced)
{
    if (arguments.json) {
        printf("{\"case\": \"%s\", \"repetition\": %u, \"region\": %u, \"threads\": %d, \"count\": %" PRIu64
               ", \"places\": %d, \"nodes\": %d, \"misplaced\": %ld}\n",
               name, repetition, region, threads, elements, bench_machine.count, node_count, misplaced);
    } else {
        printf("%6u  %-20s%4u%8d%12" PRIu64 "%10ld\n", region, name, repetition, threads, elements, misplaced);
    }
}

/* Runs WAYS, and says which region they had. */
static int run(const char *name, unsigned repetition, struct traversal *ways, int count)
{
    unsigned region = next_region++;
    int error = traverse_all(ways, count, region);
    const struct numabench_list *list = ways[0].list;
    long misplaced = numabench_list_misplaced(list, bench_machine.places[node_places[list - lists]].node);

    if (error == 0)
        told(name, repetition, region, count, (uint64_t)count * list->length * arguments.passes, misplaced);
    return error;
}

static int read_and_write(const char *name, unsigned repetition, struct traversal *ways, int count)
{
    int error = 0;

    for (int write = 0; write < 2 && error == 0; write++) {
        char full[NAME_SIZE];

        snprintf(full, sizeof(full), "%s.%s", name, write ? "write" : "read");
        for (int i = 0; i < count; i++)
            ways[i].write = write != 0;
        error = run(full, repetition, ways, count);
    }
    return error;
}

static int sequential_run(unsigned repetition)
{
    static const char *const names[] = {"local", "remote1", "remote2"};
    int error = 0;

    for (int phase = 0; phase < 3 && error == 0; phase++) {
        struct traversal way = {.place = node_places[phase == 0 ? 0 : 1], .list = &lists[0]};

        error = read_and_write(names[phase], repetition, &way, 1);
    }
    return error;
}

/* The place for thread I of those on the first node alone. */
static int first_node_place(int i)
{
    int found[BENCH_PLACES_MAX] = {0};
    int count = 1;

    for (int place = 1; place < bench_machine.count; place++) {
        if (bench_machine.places[place].node == bench_machine.places[0].node)
            found[count++] = place;
    }
    return found[i % count];
}

static int node_index(int place)
{
    int index = 0;

    while (bench_machine.places[node_places[index]].node != bench_machine.places[place].node)
        index++;
    return index;
}

static int cross_run(unsigned repetition)
{
    struct traversal ways[BENCH_PLACES_MAX];
    int count = bench_machine.count;
    int error;

    for (int i = 0; i < count; i++)
        ways[i] = (struct traversal){.place = first_node_place(i), .list = &lists[0]};
    error = read_and_write("all_local", repetition, ways, count);
    for (int i = 0; i < count; i++)
        ways[i].place = i;
    if (error == 0)
        error = read_and_write("shared", repetition, ways, count);
    for (uint32_t remote = 0; remote <= 100 && error == 0; remote += MIXED_STEP) {
        char name[NAME_SIZE];

        snprintf(name, sizeof(name), "mixed.%" PRIu32, remote);
        for (int i = 0; i < count; i++) {
            int node = node_index(i);

            ways[i] = (struct traversal){
                .place = i, .list = &lists[node], .away = &lists[(node + 1) % node_count], .remote = remote};
        }
        error = run(name, repetition, ways, count);
    }
    for (int i = 0; i < count; i++)
        ways[i] = (struct traversal){.place = i, .list = &lists[(node_index(i) + 1) % node_count]};
    return error != 0 ? error : read_and_write("unfavourable", repetition, ways, count);
}

/* Threads on each node that write the first node's list: all but the first had better come to it. */
static int apart_run(unsigned repetition)
{
    struct traversal ways[BENCH_PLACES_MAX];

    for (int i = 0; i < node_count; i++)
        ways[i] = (struct traversal){.place = node_places[i], .list = &lists[0], .write = true, .free = i > 0};
    return run("apart.write", repetition, ways, node_count);
}

static int lists_make(unsigned repetition)
{
    for (int node = 0; node < node_count; node++) {
        struct making making = {.list = &lists[node],
                                .seed = arguments.seed + (uint64_t)repetition * BENCH_PLACES_MAX + (uint64_t)node};
        struct bench_job job = {.place = node_places[node], .work = make, .argument = &making};
        int error;

        numabench_list_free(&lists[node]);
        error = bench_team_run(&job, 0, 1, 0);
        if (error != 0)
            return error;
    }
    return 0;
}

/* Each place reads what each other has written. */
static int map_run(void)
{
    int count = bench_machine.count;

    for (int reader = 0; reader < count; reader++) {
        for (int writer = 0; writer < count; writer++) {
            struct traversal way = {.place = writer, .list = &lists[0], .write = true};
            char name[NAME_SIZE];
            int error = 0;

            if (writer == reader)
                continue;
            /* Who has not been there before learns of the pages first. */
            for (int i = 0; i < 2 && error == 0; i++) {
                way.place = writer;
                way.write = true;
                error = traverse_all(&way, 1, 0);
                way.place = reader;
                way.write = false;
                if (error == 0 && i == 0)
                    error = traverse_all(&way, 1, 0);
            }
            snprintf(name, sizeof(name), "map.%d.%d", reader, writer);
            if (error == 0)
                error = run(name, 0, &way, 1);
            if (error != 0)
                return error;
        }
    }
    return 0;
}

static int run_all(void)
{
    int error = arguments.map ? lists_make(0) : 0;

    if (!arguments.json)
        printf("%6s  %-20s%4s%8s%12s%10s\n", "region", "case", "rep", "threads", "elements", "misplaced");
    if (arguments.map && error == 0)
        return map_run();
    for (unsigned repetition = 0; repetition < arguments.repeat && error == 0; repetition++) {
        error = lists_make(repetition);
        if (error == 0 && arguments.sequential)
            error = sequential_run(repetition);
        if (error == 0 && arguments.cross)
            error = cross_run(repetition);
        if (error == 0 && arguments.apart)
            error = apart_run(repetition);
    }
    return error;
}

/* How many regions it takes. */
static unsigned regions_needed(void)
{
    unsigned places = (unsigned)bench_machine.count;
    unsigned cross = 3 * 2 + 100 / MIXED_STEP + 1;

    if (arguments.map)
        return places * (places - 1);
    return arguments.repeat * ((arguments.sequential ? 3 * 2 : 0) + (arguments.cross ? cross : 0) + arguments.apart);
}

int main(int argc, char **argv)
{
    int status;
    int error;

    if (help_asked(argc, argv, usage))
        return 0;
    status = arguments_parse(argc, argv);
    if (status != 0)
        return status;
    bench_machine_find();
    for (int place = 0; place < bench_machine.count; place++) {
        int index = 0;

        while (index < node_count && bench_machine.places[node_places[index]].node != bench_machine.places[place].node)
            index++;
        if (index == node_count)
            node_places[node_count++] = place;
    }
    if (node_count < 2 && !arguments.map) {
        fprintf(stderr, "numabench: needs CPUs on two nodes; this machine has %d\n", node_count);
        return STATUS_FAILED;
    }
    if (regions_needed() > REGIONS_MAX) {
        fprintf(stderr, "numabench: that takes %u regions, and there are 255: fewer repetitions or places\n",
                regions_needed());
        return STATUS_FAILED;
    }
    if (arguments.map)
        arguments.elements = MAP_ELEMENTS;
    /* The model begins here, so that the lists are in its caches as far as they go when the first traversal begins. */
    mark_begin(0);
    mark_end(0);
    error = bench_team_start(bench_machine.count);
    if (error == 0)
        error = run_all();
    if (error != 0) {
        fprintf(stderr, "numabench: %s: %s\n", bench_failure(), strerror(error));
        return STATUS_FAILED;
    }
    bench_team_end();
    return 0;
}
