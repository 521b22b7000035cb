/* msgbench: the table of cases. A case's region is its place in the table, from 1, on every machine. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "libc/kettle.h"
#include "userland/bench/msg/msgbench.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const uint32_t pair_bytes[] = {0, 48, 256, 4096, 65536};
static const uint32_t handler_bytes[] = {48}; /* what the operation carries */
static const uint32_t shape_bytes[] = {48, 4096};
static const uint32_t set_bytes[] = {32, 4096}; /* 32 fit into one slot with the set they go to */
static const int set_kernels[] = {2, 4, 8, 16, 32, 64};

static const char *const operation_names[] = {
    [KETTLE_MESSAGES_ONE_WAY] = "one_way",     [KETTLE_MESSAGES_ROUND_TRIP] = "round_trip",
    [KETTLE_MESSAGES_MULTICAST] = "multicast", [KETTLE_MESSAGES_UNICAST] = "unicast",
    [KETTLE_MESSAGES_HANDLER] = "handler",
};
static const char *const peer_names[] = {
    [PEER_POLLED] = "polled", [PEER_RUNNING] = "running", [PEER_SLEEPING] = "sleeping", [PEER_NONE] = "none"};
static const char *const where_names[] = {
    [SAME_NODE] = "same node", [OTHER_NODE] = "other node", [ANY_NODE] = "any node"};
static const char *const where_words[] = {[SAME_NODE] = "same", [OTHER_NODE] = "other", [ANY_NODE] = "any"};
static const char *const shape_names[] = {
    [ONE_TO_ONE] = "1:1", [ONE_TO_ALL] = "1:N", [ALL_TO_ONE] = "N:1", [ALL_TO_ALL] = "N:N"};
static const char *const shape_words[] = {
    [ONE_TO_ONE] = "one_to_one", [ONE_TO_ALL] = "one_to_all", [ALL_TO_ONE] = "all_to_one", [ALL_TO_ALL] = "all_to_all"};

struct table {
    struct msgbench_case *cases;
    size_t count;
};

__attribute__((format(printf, 3, 4))) static void add(struct table *table, struct msgbench_case bench,
                                                      const char *format, ...)
{
    va_list arguments;

    assert(table->count < MSGBENCH_CASES_MAX);
    va_start(arguments, format);
    vsnprintf(bench.name, sizeof(bench.name), format, arguments);
    va_end(arguments);
    bench.region = (unsigned)table->count + 1;
    table->cases[table->count++] = bench;
}

/* One sender, one receiver, each of COUNT sizes. */
static void add_pair(struct table *table, uint32_t operation, enum msgbench_peer peer, enum msgbench_where where,
                     const uint32_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct msgbench_case bench = {.operation = operation,
                                      .bytes = bytes[i],
                                      .peer = peer,
                                      .where = where,
                                      .shape = ONE_TO_ONE,
                                      .method = peer == PEER_SLEEPING ? METHOD_SPACED : METHOD_STREAM,
                                      .kernels = 2};

        add(table, bench, "%s.%u.%s.%s", operation_names[operation], bench.bytes, peer_names[peer], where_words[where]);
    }
}

static void add_pairs(struct table *table)
{
    static const uint32_t operations[] = {KETTLE_MESSAGES_ONE_WAY, KETTLE_MESSAGES_ROUND_TRIP};

    for (size_t i = 0; i < COUNT_OF(operations); i++) {
        for (enum msgbench_peer peer = PEER_POLLED; peer <= PEER_SLEEPING; peer++) {
            add_pair(table, operations[i], peer, SAME_NODE, pair_bytes, COUNT_OF(pair_bytes));
            add_pair(table, operations[i], peer, OTHER_NODE, pair_bytes, COUNT_OF(pair_bytes));
        }
    }
    add_pair(table, KETTLE_MESSAGES_HANDLER, PEER_POLLED, SAME_NODE, handler_bytes, COUNT_OF(handler_bytes));
    add_pair(table, KETTLE_MESSAGES_HANDLER, PEER_POLLED, OTHER_NODE, handler_bytes, COUNT_OF(handler_bytes));
}

/* Several senders or receivers. */
static void add_shapes(struct table *table)
{
    static const uint32_t operations[] = {KETTLE_MESSAGES_ONE_WAY, KETTLE_MESSAGES_ROUND_TRIP};

    for (size_t i = 0; i < COUNT_OF(operations); i++) {
        for (enum msgbench_shape shape = ONE_TO_ALL; shape <= ALL_TO_ALL; shape++) {
            for (size_t j = 0; j < COUNT_OF(shape_bytes); j++) {
                struct msgbench_case bench = {.operation = operations[i],
                                              .bytes = shape_bytes[j],
                                              .peer = PEER_POLLED,
                                              .where = ANY_NODE,
                                              .shape = shape,
                                              .method = METHOD_STREAM};

                add(table, bench, "%s.%u.%s", operation_names[operations[i]], bench.bytes, shape_words[shape]);
            }
        }
    }
}

/* The same set of kernels, all at once and one after another. */
static void add_sets(struct table *table)
{
    static const uint32_t operations[] = {KETTLE_MESSAGES_MULTICAST, KETTLE_MESSAGES_UNICAST};

    for (size_t i = 0; i < COUNT_OF(operations); i++) {
        for (size_t j = 0; j < COUNT_OF(set_bytes); j++) {
            for (size_t k = 0; k < COUNT_OF(set_kernels); k++) {
                struct msgbench_case bench = {.operation = operations[i],
                                              .bytes = set_bytes[j],
                                              .peer = PEER_POLLED,
                                              .where = ANY_NODE,
                                              .shape = ONE_TO_ALL,
                                              .method = METHOD_STREAM,
                                              .kernels = set_kernels[k]};

                add(table, bench, "%s.%u.%d", operation_names[operations[i]], bench.bytes, bench.kernels);
            }
        }
    }
}

size_t msgbench_cases(struct msgbench_case cases[MSGBENCH_CASES_MAX])
{
    static const struct msgbench_case call = {
        .peer = PEER_NONE, .where = ANY_NODE, .method = METHOD_CALL, .kernels = 1};
    static const struct msgbench_case paced = {.operation = KETTLE_MESSAGES_ROUND_TRIP,
                                               .bytes = 48,
                                               .peer = PEER_SLEEPING,
                                               .where = OTHER_NODE,
                                               .method = METHOD_PACED,
                                               .kernels = 2};
    struct table table = {.cases = cases};

    add(&table, call, "call");
    add(&table, paced, "pingpong.48");
    add_pairs(&table);
    add_shapes(&table);
    add_sets(&table);
    return table.count;
}

const char *msgbench_case_refusal(const struct msgbench_case *bench, const struct msgbench_machine *machine)
{
    if (bench->method == METHOD_CALL)
        return NULL;
    if (machine->count < 2)
        return "needs a second kernel";
    if (bench->where == SAME_NODE && machine->same_node < 0)
        return "needs another kernel on the same node";
    if (bench->where == OTHER_NODE && machine->other_node < 0)
        return "needs a kernel on another node";
    if (bench->kernels > machine->count)
        return "needs more kernels";
    if (bench->shape != ONE_TO_ONE && bench->kernels == 0 && machine->count < 3)
        return "needs a third kernel";
    return NULL;
}

const char *msgbench_operation_name(const struct msgbench_case *bench)
{
    return bench->method == METHOD_CALL ? "call" : operation_names[bench->operation];
}

const char *msgbench_peer_name(enum msgbench_peer peer)
{
    return peer_names[peer];
}

const char *msgbench_where_name(enum msgbench_where where)
{
    return where_names[where];
}

const char *msgbench_shape_name(enum msgbench_shape shape)
{
    return shape_names[shape];
}
