/* What programs do with libnuma, told in words that do not depend on how much memory or how many CPUs a node has: built
 * static with -lnuma and run unmodified on Linux and on Kettle, it says the same. */
#define _GNU_SOURCE
#include <errno.h>
#include <numa.h>
#include <numaif.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGES 16

static long page_size;

/* Node of each page at AT. */
static void tell(const char *what, char *at, int pages)
{
    void *addresses[PAGES];
    int status[PAGES];

    for (int i = 0; i < pages; i++)
        addresses[i] = at + i * page_size;
    memset(status, -1, sizeof(status));
    if (numa_move_pages(0, (unsigned long)pages, addresses, NULL, status, 0) != 0)
        printf("%s: %s", what, strerror(errno));
    else
        printf("%s:", what);
    for (int i = 0; i < pages; i++)
        printf(" %d", status[i]);
    printf("\n");
}

static void tell_mask(const char *what, struct bitmask *mask)
{
    printf("%s:", what);
    for (int node = 0; node <= numa_max_node(); node++) {
        if (numa_bitmask_isbitset(mask, (unsigned)node))
            printf(" %d", node);
    }
    printf("\n");
}

/* As numactl --hardware, without sizes. */
static void hardware(void)
{
    printf("available: %d nodes, highest %d\n", numa_num_configured_nodes(), numa_max_node());
    for (int node = 0; node <= numa_max_node(); node++) {
        struct bitmask *cpus = numa_allocate_cpumask();
        long long free_bytes = 0, size = numa_node_size64(node, &free_bytes);

        numa_node_to_cpus(node, cpus);
        printf("node %d cpus:", node);
        for (unsigned cpu = 0; cpu < cpus->size; cpu++) {
            if (numa_bitmask_isbitset(cpus, cpu))
                printf(" %u", cpu);
        }
        printf("; memory %d, free %d; node of the first %d\n", size > 0, free_bytes > 0 && free_bytes <= size,
               numa_node_of_cpu(node * numa_num_configured_cpus() / (numa_max_node() + 1)));
        numa_free_cpumask(cpus);
    }
    for (int from = 0; from <= numa_max_node(); from++) {
        for (int to = 0; to <= numa_max_node(); to++)
            printf(" %d", numa_distance(from, to));
        printf("\n");
    }
}

static void allocations(void)
{
    for (int node = 0; node <= numa_max_node(); node++) {
        char *at = numa_alloc_onnode((size_t)(PAGES * page_size), node);

        memset(at, node + 1, (size_t)(PAGES * page_size));
        tell("on a node", at, PAGES);
        numa_free(at, (size_t)(PAGES * page_size));
    }
    char *at = numa_alloc_interleaved((size_t)(PAGES * page_size));
    int on[64] = {0}, mode = -1, node = -1;

    memset(at, 1, (size_t)(PAGES * page_size));
    for (int i = 0; i < PAGES; i++) {
        if (get_mempolicy(&node, NULL, 0, at + i * page_size, MPOL_F_NODE | MPOL_F_ADDR) == 0 && node >= 0 && node < 64)
            on[node]++;
    }
    get_mempolicy(&mode, NULL, 0, at, MPOL_F_ADDR);
    printf("interleaved, mode %d:", mode);
    for (int i = 0; i <= numa_max_node(); i++)
        printf(" %d", on[i]);
    printf("\n");
    numa_free(at, (size_t)(PAGES * page_size));
    at = numa_alloc_local((size_t)(PAGES * page_size));
    numa_run_on_node(numa_max_node());
    memset(at, 1, (size_t)(PAGES * page_size));
    tell("local to the highest", at, PAGES);
    printf("runs on %d\n", numa_node_of_cpu(sched_getcpu()));
    numa_free(at, (size_t)(PAGES * page_size));
    numa_run_on_node(0);
    printf("runs on %d\n", numa_node_of_cpu(sched_getcpu()));
    tell_mask("may run on", numa_get_run_node_mask());
    numa_run_on_node(-1);
}

static void moves(void)
{
    char *at = numa_alloc_onnode((size_t)(PAGES * page_size), 0);
    void *addresses[PAGES];
    int nodes[PAGES], status[PAGES];
    unsigned sum = 0;

    for (int i = 0; i < PAGES; i++) {
        memset(at + i * page_size, i, (size_t)page_size);
        addresses[i] = at + i * page_size;
        nodes[i] = i % (numa_max_node() + 1);
    }
    printf("numa_move_pages %d\n", numa_move_pages(0, PAGES, addresses, nodes, status, MPOL_MF_MOVE));
    tell("moved", at, PAGES);
    for (long i = 0; i < PAGES * page_size; i++)
        sum = sum * 31 + (unsigned char)at[i];
    printf("content %u\n", sum);
    numa_tonode_memory(at, (size_t)(PAGES * page_size), numa_max_node());
    tell("before they move", at, PAGES);
    printf("mbind %ld\n", mbind(at, (unsigned long)(PAGES * page_size), MPOL_BIND, numa_all_nodes_ptr->maskp,
                                numa_all_nodes_ptr->size + 1, MPOL_MF_MOVE));
    struct bitmask *to = numa_allocate_nodemask();

    numa_bitmask_setbit(to, (unsigned)numa_max_node());
    printf("migrated %d\n", numa_migrate_pages(getpid(), numa_all_nodes_ptr, to) >= 0);
    tell("migrated", at, PAGES);
    numa_free_nodemask(to);
    numa_free(at, (size_t)(PAGES * page_size));
}

static void policies(void)
{
    struct bitmask *nodes = numa_allocate_nodemask();
    char *at;

    tell_mask("memory of all", numa_get_mems_allowed());
    numa_bitmask_setbit(nodes, (unsigned)numa_max_node());
    numa_set_membind(nodes);
    tell_mask("bound to", numa_get_membind());
    at = numa_alloc((size_t)(PAGES * page_size));
    memset(at, 1, (size_t)(PAGES * page_size));
    tell("bound", at, PAGES);
    numa_free(at, (size_t)(PAGES * page_size));
    numa_set_preferred(0);
    printf("preferred %d\n", numa_preferred());
    at = numa_alloc((size_t)(PAGES * page_size));
    memset(at, 1, (size_t)(PAGES * page_size));
    tell("preferred", at, PAGES);
    numa_free(at, (size_t)(PAGES * page_size));
    numa_set_interleave_mask(numa_all_nodes_ptr);
    tell_mask("interleaves over", numa_get_interleave_mask());
    printf("next %d\n", numa_get_interleave_node());
    numa_set_localalloc();
    tell_mask("no more over", numa_get_interleave_mask());
    numa_free_nodemask(nodes);
}

int main(void)
{
    page_size = sysconf(_SC_PAGESIZE);
    if (numa_available() != 0) {
        printf("no NUMA\n");
        return 1;
    }
    hardware();
    allocations();
    moves();
    policies();
    return 0;
}
