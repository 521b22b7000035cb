/* On which nodes pages and threads are. See the header. */
#include "tests/guest/numa/node.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "userland/x86.h"

#define TOGETHER 64l /* pages that one call asks for */

int node_here(void)
{
    unsigned node = 0;
    long error = x86_syscall3(SYS_getcpu, 0, (long)&node, 0);

    CHECK(error == 0, "getcpu: %s", strerror((int)-error));
    return (int)node;
}

/* As node_of_each, for at most TOGETHER pages; returns what the system call does. */
static long ask(const char *area, long count, int *nodes)
{
    const void *addresses[TOGETHER];

    for (long i = 0; i < count; i++)
        addresses[i] = area + i * PAGE;
    return x86_syscall(SYS_move_pages, 0, count, (long)addresses, 0, (long)nodes, 0);
}

int node_of(const void *address)
{
    int node = -EPROTO;
    long error = ask((const char *)((unsigned long)address & ~(PAGE - 1ul)), 1, &node);

    return error != 0 ? (int)error : node;
}

bool node_of_each(const void *area, long count, int *nodes)
{
    long error = 0;

    for (long first = 0; first < count && error == 0; first += TOGETHER)
        error = ask((const char *)area + first * PAGE, count - first < TOGETHER ? count - first : TOGETHER,
                    nodes + first);
    return CHECK(error == 0, "move_pages: %s", strerror((int)-error));
}

long node_has(int node, const void *area, long count)
{
    long found = 0;

    for (long first = 0; first < count; first += TOGETHER) {
        long some = count - first < TOGETHER ? count - first : TOGETHER;
        int nodes[TOGETHER];

        if (!node_of_each((const char *)area + first * PAGE, some, nodes))
            return -1;
        for (long i = 0; i < some; i++)
            found += nodes[i] == node;
    }
    return found;
}
