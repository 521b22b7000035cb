/* BFS: breadth-first search of a random graph, level by level, as the thesis's BFS (Rodinia's) does: a member looks at
 * its part of all nodes, and visits the neighbours of those that the last level found.
 *
 * The graph is made here, the same on every machine: each node has 2 to 10 edges to anywhere. */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#include "userland/bench/workloads/random.h"
#include "userland/bench/workloads/team.h"
#include "userland/bench/workloads/workload.h"

#define DEGREE_LEAST 2
#define DEGREE_RANGE 9
#define STAGES 6 /* the thesis's program moves its threads there and back six times */
#define UNSEEN (-1)

static const int node_bits[] = {16, 18, 20, 22}; /* of the classes */

static long nodes;
static int *edge_begin; /* of node n in the next; edge_begin[nodes] is its length */
static int *edge_to;
static int *level_of;
static unsigned char *front;         /* the level before found this node */
static _Atomic unsigned char *found; /* this level did */
static atomic_int going;

static bool setup(char name)
{
    int row = workload_class(name);
    uint64_t state = RANDOM_SEED;

    if (row < 0)
        return false;
    nodes = 1L << node_bits[row];
    edge_begin = workload_memory((size_t)(nodes + 1) * sizeof(*edge_begin));
    level_of = workload_memory((size_t)nodes * sizeof(*level_of));
    front = workload_memory((size_t)nodes);
    found = workload_memory((size_t)nodes);
    for (long i = 0; i < nodes; i++)
        edge_begin[i + 1] = edge_begin[i] + DEGREE_LEAST + (int)(DEGREE_RANGE * random_next(&state));
    edge_to = workload_memory((size_t)edge_begin[nodes] * sizeof(*edge_to));
    for (int i = 0; i < edge_begin[nodes]; i++)
        edge_to[i] = (int)((double)nodes * random_next(&state));
    return true;
}

/* Visits the neighbours of the member's part of the front. Several members may find one node: they say the same. */
static void visit(long first, long end)
{
    for (long node = first; node < end; node++) {
        if (!front[node])
            continue;
        front[node] = 0;
        for (int i = edge_begin[node]; i < edge_begin[node + 1]; i++) {
            if (level_of[edge_to[i]] == UNSEEN)
                atomic_store_explicit(&found[edge_to[i]], 1, memory_order_relaxed);
        }
    }
}

/* Makes the member's part of what was found the next front; whether there is any. */
static bool advance(long first, long end, int level)
{
    bool any = false;

    for (long node = first; node < end; node++) {
        if (atomic_load_explicit(&found[node], memory_order_relaxed)) {
            atomic_store_explicit(&found[node], 0, memory_order_relaxed);
            level_of[node] = level;
            front[node] = 1;
            any = true;
        }
    }
    return any;
}

static void run(int me)
{
    long first;
    long end;
    bool more = true;

    team_range(me, nodes, &first, &end);
    for (long node = first; node < end; node++)
        level_of[node] = node == 0 ? 0 : UNSEEN;
    if (me == 0)
        front[0] = 1;
    team_clock_begin();
    for (int level = 1; more; level++) {
        if (level <= STAGES)
            team_stage_begin(me);
        visit(first, end);
        team_barrier();
        if (me == 0)
            atomic_store(&going, 0);
        team_barrier();
        if (advance(first, end, level))
            atomic_store(&going, 1);
        team_barrier();
        more = atomic_load(&going) != 0;
        if (level < STAGES || !more)
            team_stage_end(me);
    }
    team_clock_end();
}

/* By a queue, which needs no front. */
static bool verify(void)
{
    int *queue = workload_memory((size_t)nodes * sizeof(*queue));
    int *right = workload_memory((size_t)nodes * sizeof(*right));
    long head = 0;
    long tail = 1;

    for (long node = 1; node < nodes; node++)
        right[node] = UNSEEN;
    while (head < tail) {
        int node = queue[head++];

        for (int i = edge_begin[node]; i < edge_begin[node + 1]; i++) {
            if (right[edge_to[i]] == UNSEEN) {
                right[edge_to[i]] = right[node] + 1;
                queue[tail++] = edge_to[i];
            }
        }
    }
    for (long node = 0; node < nodes; node++) {
        if (level_of[node] != right[node]) {
            fprintf(stderr, "workload: bfs: node %ld is at level %d, not %d\n", node, right[node], level_of[node]);
            return false;
        }
    }
    return tail > nodes / 2; /* a search that ended at once would be right, too */
}

static double operations(void)
{
    return (double)edge_begin[nodes];
}

const struct workload workload_bfs = {"bfs", "breadth-first search", "edges", setup, run, verify, operations};
