/* taskbench: the table of cases, in the order in which they run.
 *
 * First what a process does that has been nowhere else; then what needs a second place; then the first arrivals at the
 * places that are left; last what a process does that has been everywhere. So a row of the first kinds is not charged
 * for kernels that only later rows make members of the process. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "userland/bench/tasks/taskbench.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Repetitions: of what takes a few thousand instructions, of what takes some ten thousand, of what takes millions. */
#define MANY 128
#define SOME 32
#define FEW 8

static const char *const how_words[] = {[HOW_MIGRATE] = "migrate", [HOW_AFFINITY] = "affinity"};

struct table {
    struct taskbench_case *cases;
    size_t count;
};

__attribute__((format(printf, 3, 4))) static void add(struct table *table, struct taskbench_case bench,
                                                      const char *format, ...)
{
    va_list arguments;

    assert(table->count < BENCH_ROWS_MAX);
    va_start(arguments, format);
    vsnprintf(bench.row.name, sizeof(bench.row.name), format, arguments);
    va_end(arguments);
    bench.row.region = (unsigned)table->count + 1;
    table->cases[table->count++] = bench;
}

/* An operation of the program's first thread, which goes to WHERE before. */
static void add_caller(struct table *table, struct taskbench_case bench, enum bench_where where)
{
    bench.where = where;
    bench.caller_goes = where != WHERE_LOCAL;
    add(table, bench, "%s.%s", bench.operation, bench_where_word(where));
}

/* What a process does at one place. */
static void add_callers(struct table *table, enum bench_where where)
{
    static const struct taskbench_case cases[] = {
        {.operation = "spawn_posix", .how = HOW_USUAL, .row.count = SOME, .run = taskbench_run_spawn_posix},
        {.operation = "fork_small", .how = HOW_USUAL, .row.count = SOME, .run = taskbench_run_fork},
        {.operation = "fork_16mb",
         .how = HOW_USUAL,
         .small_pages = true,
         .number = 16 << 20,
         .row.count = FEW,
         .run = taskbench_run_fork},
        {.operation = "fork_16mb_large",
         .how = HOW_USUAL,
         .number = 16 << 20,
         .row.count = FEW,
         .run = taskbench_run_fork},
        {.operation = "vfork_exec", .how = HOW_USUAL, .row.count = SOME, .run = taskbench_run_vfork_exec},
        {.operation = "clone_join", .how = HOW_USUAL, .row.count = MANY, .run = taskbench_run_clone_join},
        {.operation = "pthread_join", .how = HOW_USUAL, .row.count = MANY, .run = taskbench_run_pthread_join},
        {.operation = "signal_process", .how = HOW_USUAL, .row.count = MANY, .run = taskbench_run_signal_process},
        {.operation = "wake_nobody", .how = HOW_USUAL, .row.count = MANY, .run = taskbench_run_wake_nobody},
        {.operation = "open_close", .how = HOW_USUAL, .row.count = MANY, .run = taskbench_run_open_close},
        {.operation = "signal_self", .how = HOW_USUAL, .row.count = MANY, .run = taskbench_run_signal_self},
        {.operation = "cow_break", .how = HOW_USUAL, .row.count = SOME, .run = taskbench_run_cow_break},
        {.operation = "touch_new", .how = HOW_USUAL, .row.count = MANY, .run = taskbench_run_touch_new},
        {.operation = "signal_fresh", .how = HOW_USUAL, .row.count = MANY, .run = taskbench_run_signal_fresh},
        {.operation = "set_robust", .how = HOW_USUAL, .row.count = MANY, .run = taskbench_run_set_robust},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        add_caller(table, cases[i], where);
}

/* What the first thread at home does to something that is at one place. */
static void add_targets(struct table *table, enum bench_where where)
{
    static const struct taskbench_case cases[] = {
        {.operation = "spawn_kettle", .how = HOW_USUAL, .row.count = SOME, .run = taskbench_run_spawn_kettle},
        {.operation = "thread_exit", .how = HOW_USUAL, .row.count = SOME, .run = taskbench_run_thread_exit},
        {.operation = "kill_wait", .how = HOW_USUAL, .row.count = FEW, .run = taskbench_run_kill_wait},
        {.operation = "signal_reply", .how = HOW_USUAL, .row.count = SOME, .run = taskbench_run_signal_reply},
    };
    struct taskbench_case clone = {.operation = "clone_move_join",
                                   .where = where,
                                   .how = HOW_USUAL,
                                   .row.count = SOME,
                                   .run = taskbench_run_clone_move_join};
    struct taskbench_case fetch = {.operation = "touch_fetch",
                                   .where = where,
                                   .how = HOW_USUAL,
                                   .row.count = MANY,
                                   .run = taskbench_run_touch_fetch};

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct taskbench_case bench = cases[i];

        bench.where = where;
        add(table, bench, "%s.%s", bench.operation, bench_where_word(where));
    }
    if (where != WHERE_LOCAL) {
        add(table, clone, "clone_move_join.%s", bench_where_word(where));
        add(table, fetch, "touch_fetch.%s", bench_where_word(where));
    }
}

static void add_moves(struct table *table, bool spanning)
{
    static const struct taskbench_case moves[] = {
        {.operation = "move_first", .row.count = SOME, .run = taskbench_run_move_first},
        {.operation = "move_back", .row.count = SOME, .run = taskbench_run_move_back},
        {.operation = "ping_pong", .row.count = 2 * MANY, .run = taskbench_run_ping_pong},
    };

    for (enum bench_how how = HOW_MIGRATE; how <= HOW_AFFINITY; how++) {
        for (enum bench_where where = WHERE_SAME; where <= WHERE_OTHER; where++) {
            for (int vectors = 0; vectors < 2; vectors++) {
                for (size_t i = 0; i < COUNT_OF(moves); i++) {
                    struct taskbench_case bench = moves[i];

                    bench.how = how;
                    bench.where = where;
                    bench.vectors = vectors != 0;
                    bench.spanning = spanning;
                    if (!spanning)
                        add(table, bench, "%s.%s.%s.%s", bench.operation, how_words[how], vectors ? "avx" : "plain",
                            bench_where_word(where));
                    else if (where == WHERE_OTHER && !vectors)
                        add(table, bench, "%s.%s.plain.other.all", bench.operation, how_words[how]);
                }
            }
        }
    }
}

static void add_everywhere(struct table *table)
{
    static const int threads[] = {2, 4, 8, 16, 32, 64};
    struct taskbench_case protect = {.operation = "mprotect",
                                     .where = WHERE_ALL,
                                     .how = HOW_USUAL,
                                     .spanning = true,
                                     .row.count = SOME,
                                     .run = taskbench_run_mprotect};
    struct taskbench_case exits = {.operation = "thread_exit",
                                   .where = WHERE_ALL,
                                   .how = HOW_USUAL,
                                   .spanning = true,
                                   .row.count = SOME,
                                   .run = taskbench_run_thread_exit};
    struct taskbench_case clone = {.operation = "clone_join",
                                   .where = WHERE_LOCAL,
                                   .how = HOW_USUAL,
                                   .spanning = true,
                                   .row.count = SOME,
                                   .run = taskbench_run_clone_join};

    add_moves(table, true);
    add(table, protect, "mprotect.all");
    add(table, exits, "thread_exit.all");
    add(table, clone, "clone_join.local.all");
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        struct taskbench_case group = {.operation = "group_exit",
                                       .where = WHERE_ALL,
                                       .how = HOW_USUAL,
                                       .number = threads[i],
                                       .row.count = FEW,
                                       .run = taskbench_run_group_exit};

        add(table, group, "group_exit.%d", threads[i]);
        group.operation = "visited_exit";
        group.run = taskbench_run_visited_exit;
        if (threads[i] <= 16)
            add(table, group, "visited_exit.%d", threads[i]);
    }
}

size_t taskbench_cases(struct taskbench_case cases[BENCH_ROWS_MAX])
{
    static const struct taskbench_case empty = {
        .operation = "empty", .how = HOW_USUAL, .row.count = MANY, .run = taskbench_run_empty};
    static const struct taskbench_case call = {
        .operation = "call", .how = HOW_USUAL, .row.count = MANY, .run = taskbench_run_call};
    static const struct taskbench_case protect = {
        .operation = "mprotect", .how = HOW_USUAL, .row.count = SOME, .run = taskbench_run_mprotect};
    struct table table = {.cases = cases};

    add(&table, empty, "empty");
    add(&table, call, "call");
    add(&table, protect, "mprotect.local");
    add_callers(&table, WHERE_LOCAL);
    add_targets(&table, WHERE_LOCAL);
    add_moves(&table, false);
    for (enum bench_where where = WHERE_SAME; where <= WHERE_OTHER; where++) {
        add_callers(&table, where);
        add_targets(&table, where);
    }
    for (enum bench_how how = HOW_MIGRATE; how <= HOW_AFFINITY; how++) {
        struct taskbench_case import = {
            .operation = "import", .where = WHERE_ALL, .how = how, .row.count = 1, .run = taskbench_run_import};

        add(&table, import, "import.%s", how_words[how]);
    }
    add_everywhere(&table);
    return table.count;
}

const char *taskbench_case_refusal(const struct taskbench_case *bench)
{
    const struct bench_machine *machine = &bench_machine;
    const char *refusal = bench_where_refusal(bench->where);

    if (refusal != NULL)
        return refusal;
    if (bench->how == HOW_MIGRATE && machine->kettle && machine->usual != HOW_MIGRATE)
        return "needs a second kernel";
    if (bench->run == taskbench_run_import && bench->how == HOW_AFFINITY && machine->usual == HOW_MIGRATE)
        return "is for CPUs: import.migrate is the one for kernels";
    return NULL;
}
