/* vmbench: the table of cases. Each runs in a process of its own, so their order means nothing. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "userland/bench/vm/vmbench.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Repetitions: of what takes some thousand instructions, of what takes some ten thousand, of what takes millions. */
#define MANY 128
#define SOME 32
#define FEW 8

#define MIB_PAGES 256u
#define HUGE_PAGES 512u

struct table {
    struct vmbench_case *cases;
    size_t count;
};

struct range_operation {
    const char *name;
    int (*run)(const struct vmbench_case *bench, uint32_t count);
};

static const int numbers[] = {1, 2, 4, 8, 16}; /* of members */

__attribute__((format(printf, 3, 4))) static void add(struct table *table, struct vmbench_case bench,
                                                      const char *format, ...)
{
    va_list arguments;

    assert(table->count < BENCH_ROWS_MAX);
    va_start(arguments, format);
    vsnprintf(bench.row.name, sizeof(bench.row.name), format, arguments);
    va_end(arguments);
    bench.row.region = (unsigned)table->count + 1;
    if (bench.members == 0)
        bench.members = 1;
    table->cases[table->count++] = bench;
}

static void add_faults(struct table *table)
{
    static const struct vmbench_case cases[] = {
        {.operation = "fault_new", .row.count = MANY, .pages = 1, .run = vmbench_run_fault_new},
        {.operation = "fault_frame", .row.count = MANY, .pages = 1, .run = vmbench_run_fault_frame},
        {.operation = "fault_none", .row.count = MANY, .pages = 1, .run = vmbench_run_fault_none},
        {.operation = "cow", .row.count = MANY, .pages = 1, .run = vmbench_run_cow},
        {.operation = "sequence", .row.count = 512, .pages = 512, .run = vmbench_run_sequence},
        {.operation = "lock", .row.count = MANY, .pages = 1, .run = vmbench_run_lock},
        {.operation = "fault_rested", .row.count = MANY, .pages = 1, .run = vmbench_run_fault_rested},
    };

    for (enum bench_where where = WHERE_LOCAL; where <= WHERE_ALL; where++) {
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            struct vmbench_case bench = cases[i];
            bool fetches = bench.run == vmbench_run_fault_frame || bench.run == vmbench_run_sequence;

            bench.where = where;
            if (where == WHERE_LOCAL ? !fetches : bench.run != vmbench_run_fault_rested)
                add(table, bench, "%s.%s", bench.operation, bench_where_word(where));
        }
    }
}

/* Faults after a fork. */
static void add_forked(struct table *table)
{
    static const struct vmbench_case cases[] = {
        {.operation = "forked_new", .row.count = MANY, .pages = 1, .run = vmbench_run_forked_new},
        {.operation = "forked_write", .row.count = MANY, .pages = 1, .run = vmbench_run_forked_write},
    };

    for (enum bench_where where = WHERE_LOCAL; where <= WHERE_ALL; where++) {
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            struct vmbench_case bench = cases[i];

            bench.where = where;
            if (where != WHERE_SAME)
                add(table, bench, "%s.%s", bench.operation, bench_where_word(where));
        }
    }
}

/* Changes of pages that home and another place have touched, of a process that has been at all places. */
static void add_pairs(struct table *table)
{
    static const struct range_operation operations[] = {{"unmap_pair", vmbench_run_unmap_pair},
                                                        {"protect_pair", vmbench_run_protect_pair}};

    for (size_t i = 0; i < COUNT_OF(operations); i++) {
        for (enum bench_where where = WHERE_LOCAL; where <= WHERE_OTHER; where++) {
            struct vmbench_case bench = {.operation = operations[i].name,
                                         .where = where,
                                         .members = 2,
                                         .row.count = MANY,
                                         .pages = 1,
                                         .run = operations[i].run};

            if (where != WHERE_SAME)
                add(table, bench, "%s.%s", bench.operation, bench_where_word(where));
        }
    }
}

/* madvise of a page. */
static void add_advices(struct table *table)
{
    static const struct range_operation operations[] = {{"advise_lasting", vmbench_run_advise_lasting},
                                                        {"advise_hint", vmbench_run_advise_hint},
                                                        {"advise_drop", vmbench_run_advise_drop},
                                                        {"advise_drop_file", vmbench_run_advise_drop_file}};

    for (size_t i = 0; i < COUNT_OF(operations); i++) {
        for (enum bench_where where = WHERE_LOCAL; where <= WHERE_OTHER; where++) {
            struct vmbench_case bench = {.operation = operations[i].name,
                                         .where = where,
                                         .row.count = MANY,
                                         .pages = 1,
                                         .run = operations[i].run};

            if (where != WHERE_SAME)
                add(table, bench, "%s.%s", bench.operation, bench_where_word(where));
        }
    }
}

static const char *shape_word(enum vmbench_shape shape)
{
    static const char *const words[] = {
        [SHAPE_ONE] = "local",     [SHAPE_THREADS] = "threads", [SHAPE_PROCESSES] = "processes",
        [SHAPE_SHARED] = "shared", [SHAPE_APART] = "apart",     [SHAPE_TOGETHER] = "together"};

    return words[shape];
}

/* OPERATION of ranges of PAGES in SHAPE, by each number of members. */
static void add_team(struct table *table, const struct range_operation *operation, uint32_t pages,
                     enum vmbench_shape shape, uint32_t count)
{
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        struct vmbench_case bench = {.operation = operation->name,
                                     .shape = shape,
                                     .members = numbers[i],
                                     .pages = pages,
                                     .row.count = count,
                                     .run = operation->run};

        if (numbers[i] > 1 || shape == SHAPE_THREADS)
            add(table, bench, "%s.%u.%s.%d", operation->name, pages, shape_word(shape), numbers[i]);
    }
}

static void add_ranges(struct table *table)
{
    static const uint32_t sizes[] = {1, 16, 512};
    static const uint32_t counts[] = {MANY, SOME, FEW};
    static const uint32_t team_counts[] = {SOME, FEW, FEW / 2};
    static const struct range_operation operations[] = {{"touch", vmbench_run_touch},
                                                        {"map", vmbench_run_map},
                                                        {"protect", vmbench_run_protect},
                                                        {"protect_part", vmbench_run_protect_part}};

    for (size_t i = 0; i < COUNT_OF(operations); i++) {
        for (size_t j = 0; j < COUNT_OF(sizes); j++) {
            struct vmbench_case alone = {
                .operation = operations[i].name, .pages = sizes[j], .row.count = counts[j], .run = operations[i].run};

            add(table, alone, "%s.%u.local", operations[i].name, sizes[j]);
            if (operations[i].run == vmbench_run_protect_part)
                continue;
            for (enum vmbench_shape shape = SHAPE_THREADS; shape <= SHAPE_SHARED; shape++)
                add_team(table, &operations[i], sizes[j], shape, team_counts[j]);
        }
    }
}

/* As will-it-scale has them: page_fault, mmap and mprotect, by threads and by processes. */
static void add_scaling(struct table *table)
{
    static const struct range_operation fault = {"touch", vmbench_run_touch};
    static const struct range_operation map = {"map", vmbench_run_map};
    static const struct range_operation protect = {"protect_whole", vmbench_run_protect_whole};

    for (enum vmbench_shape shape = SHAPE_THREADS; shape <= SHAPE_PROCESSES; shape++) {
        add_team(table, &fault, MIB_PAGES, shape, FEW);
        add_team(table, &map, 128 * MIB_PAGES, shape, SOME);
        add_team(table, &protect, 128 * MIB_PAGES, shape, SOME);
    }
}

static void add_locks(struct table *table)
{
    static const struct range_operation fault = {"fault_race", vmbench_run_fault_race};
    static const struct range_operation protect = {"protect_race", vmbench_run_protect};

    static const struct range_operation own_lock = {"lock", vmbench_run_lock_team};
    static const struct range_operation lock = {"lock_race", vmbench_run_lock_team};

    for (enum vmbench_shape shape = SHAPE_APART; shape <= SHAPE_TOGETHER; shape++) {
        add_team(table, &fault, 1, shape, SOME);
        add_team(table, &protect, 1, shape, SOME);
    }
    add_team(table, &own_lock, 1, SHAPE_THREADS, SOME);
    add_team(table, &lock, 1, SHAPE_TOGETHER, SOME);
}

size_t vmbench_cases(struct vmbench_case cases[BENCH_ROWS_MAX])
{
    static const struct range_operation huge = {"touch_huge", vmbench_run_touch_huge};
    static const struct vmbench_case empty = {.operation = "empty", .row.count = MANY, .run = vmbench_run_empty};
    struct table table = {.cases = cases};

    add(&table, empty, "empty");
    add_faults(&table);
    add_ranges(&table);
    add(&table, (struct vmbench_case){.operation = huge.name, .pages = HUGE_PAGES, .row.count = FEW, .run = huge.run},
        "%s.%u.local", huge.name, HUGE_PAGES);
    for (enum vmbench_shape shape = SHAPE_THREADS; shape <= SHAPE_PROCESSES; shape++)
        add_team(&table, &huge, HUGE_PAGES, shape, FEW / 2);
    add_scaling(&table);
    add_locks(&table);
    add_pairs(&table);
    add_forked(&table);
    add_advices(&table);
    return table.count;
}

const char *vmbench_case_refusal(const struct vmbench_case *bench)
{
    static const char *const refusals[] = {
        [2] = "needs 2 kernels or CPUs",
        [4] = "needs 4 kernels or CPUs",
        [8] = "needs 8 kernels or CPUs",
        [16] = "needs 16 kernels or CPUs",
    };

    if (bench->members > bench_machine.count)
        return refusals[bench->members];
    return bench_where_refusal(bench->where == WHERE_ALL ? WHERE_OTHER : bench->where);
}

const char *vmbench_shape_name(enum vmbench_shape shape)
{
    return shape_word(shape);
}
