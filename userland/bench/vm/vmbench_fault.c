/* vmbench: faults of one thread, at home or elsewhere: on new pages, on pages that are mapped or touched at home, on
 * nothing, and on pages that a child shares. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "userland/bench/vm/vmbench.h"

#define LONG_NS 3600000000000
#define WARM_UP 2

/* Pages that are measured lie apart, so that they are no run, which one answer might bring along. Of the pages between
 * them some are touched before, so that no page table is made while measuring. */
#define STRIDE 128
#define TABLE 512
#define TABLE_FIRST 48

static sigjmp_buf after_fault;

/* --- places --- */

int vmbench_go(const struct vmbench_case *bench)
{
    int error = bench_unbind();

    if (error == 0 && bench->where == WHERE_ALL)
        error = bench_visit_all();
    if (error == 0 && bench->where != WHERE_LOCAL)
        error = bench_go(bench_place_of(bench->where == WHERE_ALL ? WHERE_OTHER : bench->where));
    return error;
}

/* --- pages --- */

struct pages {
    volatile char *start;
    size_t size;
    uint32_t count; /* that are measured */
    size_t stride;  /* bytes */
};

static int pages_make(struct pages *pages, uint32_t count, uint32_t stride)
{
    void *memory;

    pages->count = count;
    pages->stride = (size_t)stride * BENCH_PAGE;
    pages->size = count * pages->stride;
    memory = mmap(NULL, pages->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pages->start = memory;
    if (memory == MAP_FAILED)
        return bench_failed("mmap", errno);
    madvise(memory, pages->size, MADV_NOHUGEPAGE); /* each fault is one page's */
    return 0;
}

static void tables_touch(const struct pages *pages)
{
    for (size_t at = (size_t)TABLE_FIRST * BENCH_PAGE; at < pages->size; at += (size_t)TABLE / 2 * BENCH_PAGE)
        pages->start[at] = 1;
}

static void pages_touch(const struct pages *pages)
{
    for (uint32_t i = 0; i < pages->count; i++)
        pages->start[i * pages->stride] = 1;
}

static int pages_measure(const struct pages *pages)
{
    int error = vmbench_messages_begin();

    for (uint32_t i = 0; i < pages->count && error == 0; i++) {
        bench_begin();
        pages->start[i * pages->stride] = 2;
        bench_end();
    }
    return error != 0 ? error : vmbench_messages_end();
}

/* --- the operations --- */

/* First touches of pages that nobody has touched; they were mapped at home. */
static int touch_new(const struct vmbench_case *bench, uint32_t count, const struct timespec *rest)
{
    struct pages pages;
    int error = pages_make(&pages, count, STRIDE);

    if (error == 0)
        error = vmbench_go(bench);
    if (error != 0)
        return error;
    tables_touch(&pages);
    if (rest != NULL)
        nanosleep(rest, NULL);
    return pages_measure(&pages);
}

int vmbench_run_fault_new(const struct vmbench_case *bench, uint32_t count)
{
    return touch_new(bench, count, NULL);
}

/* The same by a program that has slept, so that the kernel could prepare. */
int vmbench_run_fault_rested(const struct vmbench_case *bench, uint32_t count)
{
    static const struct timespec rest = {.tv_nsec = 20000000};

    return touch_new(bench, count, &rest);
}

/* Of pages that were touched at home, STRIDE apart: 1 is one after another, and makes their page tables, too. */
static int fetch(const struct vmbench_case *bench, uint32_t count, uint32_t stride)
{
    struct pages pages;
    int error;

    if (bench_machine.usual != HOW_MIGRATE)
        return bench_failed("page tables of its own for each CPU", ENOSYS);
    error = pages_make(&pages, count, stride);
    if (error != 0)
        return error;
    pages_touch(&pages);
    if (stride != 1)
        tables_touch(&pages);
    error = vmbench_go(bench);
    if (error != 0)
        return error;
    if (stride != 1)
        tables_touch(&pages);
    return pages_measure(&pages);
}

int vmbench_run_fault_frame(const struct vmbench_case *bench, uint32_t count)
{
    return fetch(bench, count, STRIDE);
}

int vmbench_run_sequence(const struct vmbench_case *bench, uint32_t count)
{
    return fetch(bench, count, 1);
}

static void handle_fault(int signal)
{
    (void)signal;
    siglongjmp(after_fault, 1);
}

/* Touches where nothing is mapped; the signal's handler jumps out, with no call to restore signals. */
int vmbench_run_fault_none(const struct vmbench_case *bench, uint32_t count)
{
    struct sigaction action = {.sa_handler = handle_fault, .sa_flags = SA_NODEFER};
    struct pages pages;
    int error = pages_make(&pages, 1, 1);

    if (error == 0 && munmap((void *)pages.start, pages.size) != 0)
        error = bench_failed("munmap", errno);
    if (error == 0 && sigaction(SIGSEGV, &action, NULL) != 0)
        error = bench_failed("sigaction", errno);
    if (error == 0)
        error = vmbench_go(bench);
    for (volatile uint32_t i = 0; i < count + WARM_UP && error == 0; i++) {
        if (i == WARM_UP)
            error = vmbench_messages_begin();
        if (i >= WARM_UP)
            bench_begin();
        if (sigsetjmp(after_fault, 0) == 0) {
            pages.start[0] = 1;
            error = bench_failed("there is memory where nothing is mapped", EPROTO);
        }
        if (i >= WARM_UP)
            bench_end();
    }
    return error != 0 ? error : vmbench_messages_end();
}

/* Makes a child that sleeps. */
static int child_make(pid_t *child)
{
    *child = fork();
    if (*child == 0) {
        for (;;)
            bench_rest(LONG_NS);
    }
    return *child < 0 ? bench_failed("fork", errno) : 0;
}

/* ERROR, unless it is 0 and the child does not end. */
static int child_end(pid_t child, int error)
{
    int status;

    if (kill(child, SIGKILL) != 0 || waitpid(child, &status, 0) != child)
        return error != 0 ? error : bench_failed("ending a child", errno);
    return error;
}

/* Writes by the parent to pages that it shares with a child, which sleeps. They were touched at home. */
int vmbench_run_cow(const struct vmbench_case *bench, uint32_t count)
{
    struct pages pages;
    int error = pages_make(&pages, count, STRIDE);
    pid_t child;

    if (error != 0)
        return error;
    pages_touch(&pages);
    tables_touch(&pages);
    error = child_make(&child);
    if (error != 0)
        return error;
    error = vmbench_go(bench);
    if (error == 0) {
        tables_touch(&pages);
        error = pages_measure(&pages);
    }
    return child_end(child, error);
}

/* After a fork where the pages were mapped: writes to pages that were touched before it, if WRITTEN, or first touches.
 */
static int touch_forked(const struct vmbench_case *bench, uint32_t count, bool written)
{
    struct pages pages;
    pid_t child;
    int error = vmbench_go(bench);

    if (error == 0)
        error = pages_make(&pages, count, STRIDE);
    if (error != 0)
        return error;
    tables_touch(&pages);
    if (written)
        pages_touch(&pages);
    error = child_make(&child);
    if (error != 0)
        return error;
    tables_touch(&pages);
    return child_end(child, pages_measure(&pages));
}

int vmbench_run_forked_new(const struct vmbench_case *bench, uint32_t count)
{
    return touch_forked(bench, count, false);
}

int vmbench_run_forked_write(const struct vmbench_case *bench, uint32_t count)
{
    return touch_forked(bench, count, true);
}
