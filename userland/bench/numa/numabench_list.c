/* The lists of numabench. userland/bench/numa/numabench.h is the contract. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "userland/bench/numa/numabench.h"

#define MOVE_PAGES_AT_ONCE 512
#define MADV_SMALL 15 /* MADV_NOHUGEPAGE */

static uint64_t random_next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static size_t bytes_of(uint32_t length)
{
    return ((size_t)length * sizeof(struct numabench_element) + BENCH_PAGE - 1) / BENCH_PAGE * BENCH_PAGE;
}

int numabench_list_make(struct numabench_list *list, uint32_t length, uint64_t seed, bool small)
{
    uint32_t *order = malloc(length * sizeof(*order));
    uint64_t state = seed;
    void *memory = mmap(NULL, bytes_of(length), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (order == NULL || memory == MAP_FAILED) {
        free(order);
        return bench_failed("memory for a list", ENOMEM);
    }
    if (small && madvise(memory, bytes_of(length), MADV_SMALL) != 0) {
        free(order);
        return bench_failed("madvise", errno);
    }
    *list = (struct numabench_list){.memory = memory, .length = length};
    /* Knuth's shuffle: each order is as likely as any other. */
    for (uint32_t i = 0; i < length; i++)
        order[i] = i;
    for (uint32_t i = length - 1; i > 0; i--) {
        uint32_t other = (uint32_t)(random_next(&state) % (i + 1));
        uint32_t held = order[i];

        order[i] = order[other];
        order[other] = held;
    }
    for (uint32_t i = 0; i < NUMABENCH_STARTS; i++)
        list->starts[i] = &list->memory[order[(uint64_t)i * length / NUMABENCH_STARTS]];
    for (uint32_t i = 0; i < length; i++)
        list->memory[order[i]].next = &list->memory[order[(i + 1) % length]];
    free(order);
    return 0;
}

void numabench_list_free(struct numabench_list *list)
{
    if (list->memory != NULL)
        munmap(list->memory, bytes_of(list->length));
    list->memory = NULL;
}

long numabench_list_misplaced(const struct numabench_list *list, int node)
{
    void *pages[MOVE_PAGES_AT_ONCE];
    int nodes[MOVE_PAGES_AT_ONCE];
    size_t count = bytes_of(list->length) / BENCH_PAGE;
    long misplaced = 0;

    for (size_t from = 0; from < count; from += MOVE_PAGES_AT_ONCE) {
        size_t part = count - from < MOVE_PAGES_AT_ONCE ? count - from : MOVE_PAGES_AT_ONCE;

        for (size_t i = 0; i < part; i++)
            pages[i] = (char *)list->memory + (from + i) * BENCH_PAGE;
        if (syscall(SYS_move_pages, 0, part, pages, NULL, nodes, 0) != 0)
            return -1;
        for (size_t i = 0; i < part; i++)
            misplaced += nodes[i] != node;
    }
    return misplaced;
}

struct numabench_element *numabench_read(struct numabench_element *first, uint32_t count)
{
    struct numabench_element *volatile *next;

    while (count-- > 0) {
        next = (struct numabench_element *volatile *)&first->next;
        first = *next;
    }
    return first;
}

struct numabench_element *numabench_write(struct numabench_element *first, uint32_t count)
{
    while (count-- > 0) {
        volatile unsigned char *mark = &first->mark;

        *mark = (unsigned char)count;
        first = first->next;
    }
    return first;
}
