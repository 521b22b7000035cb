/* abibench: the table of cases, in the order in which they run: first what a process does that has been nowhere else.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "userland/bench/abi/abibench.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Repetitions: of what takes a few hundred instructions, of what takes some ten thousand, of what takes a million. */
#define MANY 256
#define SOME 64
#define FEW 8

struct table {
    struct abibench_case *cases;
    size_t count;
};

__attribute__((format(printf, 3, 4))) static void add(struct table *table, struct abibench_case bench,
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

/* What one thread does at one place. */
static void add_calls(struct table *table, enum bench_where where)
{
    static const struct abibench_case calls[] = {
        {.operation = "null", .row.count = MANY, .run = abibench_run_null},
        {.operation = "clock", .row.count = MANY, .run = abibench_run_clock},
        {.operation = "pipe", .row.count = MANY, .run = abibench_run_pipe},
        {.operation = "read", .row.count = MANY, .run = abibench_run_read},
        {.operation = "open_close", .row.count = MANY, .run = abibench_run_open_close},
        {.operation = "stat", .row.count = MANY, .run = abibench_run_stat},
        {.operation = "futex_wake", .row.count = MANY, .run = abibench_run_wake},
        {.operation = "mutex", .row.count = MANY, .run = abibench_run_mutex},
        {.operation = "fork_exec", .row.count = FEW, .run = abibench_run_fork_exec},
    };

    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        struct abibench_case bench = calls[i];

        bench.where = where;
        bench.leaves = where != WHERE_LOCAL;
        add(table, bench, "%s.%s", bench.operation, bench_where_word(where));
    }
}

static void add_pairs(struct table *table, enum bench_where where)
{
    add(table,
        (struct abibench_case){
            .operation = "futex_pair", .where = where, .row.count = SOME, .run = abibench_run_futex_pair},
        "futex_pair.%s", bench_where_word(where));
    add(table,
        (struct abibench_case){
            .operation = "pipe_pair", .where = where, .row.count = SOME, .run = abibench_run_pipe_pair},
        "pipe_pair.%s", bench_where_word(where));
}

static void add_teams(struct table *table, int members)
{
    static const struct abibench_case teams[] = {
        {.operation = "mutex", .run = abibench_run_mutex_team},
        {.operation = "barrier", .run = abibench_run_barrier},
        {.operation = "barrier_asleep", .run = abibench_run_barrier_asleep},
    };

    for (size_t i = 0; i < COUNT_OF(teams); i++) {
        struct abibench_case bench = teams[i];

        bench.where = WHERE_ALL;
        bench.members = members;
        bench.row.count = MANY;
        add(table, bench, "%s.%d", bench.operation, members);
    }
}

size_t abibench_cases(struct abibench_case cases[BENCH_ROWS_MAX])
{
    static const int teams[] = {2, 4, 8, 16};
    struct table table = {.cases = cases};

    add(&table, (struct abibench_case){.operation = "empty", .row.count = MANY, .run = abibench_run_empty}, "empty");
    add_calls(&table, WHERE_LOCAL);
    add_pairs(&table, WHERE_LOCAL);
    for (enum bench_where where = WHERE_SAME; where <= WHERE_OTHER; where++) {
        add_calls(&table, where);
        add_pairs(&table, where);
    }
    for (size_t i = 0; i < COUNT_OF(teams); i++)
        add_teams(&table, teams[i]);
    return table.count;
}

const char *abibench_case_refusal(const struct abibench_case *bench)
{
    if (bench->members > bench_machine.count)
        return "needs a kernel or CPU for each thread";
    return bench_where_refusal(bench->where);
}
