/* taskbench: what a process that is on several kernels does to its memory: the rows of the Popcorn thesis's table 6.1
 * that are no task's, in Kettle's terms. */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userland/bench/tasks/taskbench.h"

#define LONG_NS 3600000000000
#define WARM_UP 4

static int pages_make(uint32_t count, volatile char **pages)
{
    void *memory = mmap(NULL, (size_t)count * BENCH_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    *pages = memory;
    if (memory == MAP_FAILED)
        return bench_failed("mmap", errno);
    madvise(memory, (size_t)count * BENCH_PAGE, MADV_NOHUGEPAGE); /* each page is fetched by itself */
    return 0;
}

static void pages_free(volatile char *pages, uint32_t count)
{
    munmap((void *)pages, (size_t)count * BENCH_PAGE);
}

/* One page, mapped wherever the process has been: to read-only and back, two operations. */
int taskbench_run_mprotect(const struct taskbench_case *bench, uint32_t count)
{
    volatile char *page;
    int error = pages_make(1, &page);

    if (error != 0)
        return error;
    page[0] = 1;
    for (int i = 1; bench->spanning && i < bench_machine.count && error == 0; i++) {
        error = bench_go(i);
        page[0]++;
    }
    if (error == 0)
        error = bench_go(0);
    for (uint32_t i = 0; i < count / 2 + WARM_UP && error == 0; i++) {
        int result;

        bench_clock_begin();
        if (i >= WARM_UP)
            bench_mark();
        result = mprotect((void *)page, BENCH_PAGE, PROT_READ);
        if (result == 0)
            result = mprotect((void *)page, BENCH_PAGE, PROT_READ | PROT_WRITE);
        if (i >= WARM_UP) {
            bench_unmark();
            bench_clock_end(2);
        }
        if (result != 0)
            error = bench_failed("mprotect", errno);
    }
    pages_free(page, 1);
    return error;
}

/* Writes by the parent to pages that it shares with a child that sleeps. */
int taskbench_run_cow_break(const struct taskbench_case *bench, uint32_t count)
{
    volatile char *pages;
    int status = 0;
    int error = pages_make(count, &pages);
    pid_t child;

    (void)bench;
    if (error != 0)
        return error;
    for (uint32_t i = 0; i < count; i++)
        pages[(size_t)i * BENCH_PAGE] = 1;
    child = fork();
    if (child == 0) {
        for (;;)
            bench_rest(LONG_NS);
    }
    if (child < 0)
        error = bench_failed("fork", errno);
    for (uint32_t i = 0; i < count && error == 0; i++) {
        bench_begin();
        pages[(size_t)i * BENCH_PAGE] = 2;
        bench_end();
    }
    if (child > 0) {
        if (kill(child, SIGKILL) != 0)
            error = bench_failed("kill", errno);
        else
            error = taskbench_wait(child, &status);
    }
    pages_free(pages, count);
    return error;
}

/* First touches of new pages by the caller. */
int taskbench_run_touch_new(const struct taskbench_case *bench, uint32_t count)
{
    volatile char *pages;
    int error = pages_make(count, &pages);

    (void)bench;
    for (uint32_t i = 0; i < count && error == 0; i++) {
        bench_begin();
        pages[(size_t)i * BENCH_PAGE] = 1;
        bench_end();
    }
    if (error == 0)
        pages_free(pages, count);
    return error;
}

/* Touches of pages that the caller, who is elsewhere, has touched at home before: their mappings are fetched. */
int taskbench_run_touch_fetch(const struct taskbench_case *bench, uint32_t count)
{
    int place = bench_place_of(bench->where);
    volatile char *pages;
    int error;

    if (bench_machine.usual != HOW_MIGRATE)
        return bench_failed("page tables of its own for each CPU", ENOSYS);
    error = pages_make(count, &pages);
    if (error != 0)
        return error;
    for (uint32_t i = 0; i < count; i++)
        pages[(size_t)i * BENCH_PAGE] = 1;
    error = bench_go(place);
    for (uint32_t i = 0; i < count && error == 0; i++) {
        bench_begin();
        pages[(size_t)i * BENCH_PAGE]++;
        bench_end();
    }
    if (error == 0)
        error = bench_go(0);
    pages_free(pages, count);
    return error;
}
