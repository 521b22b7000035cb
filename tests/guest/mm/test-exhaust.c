/* test-exhaust: programs that want more memory than their kernel has, and more than there is. The first get it from
 * other kernels, the others are killed, and what else runs goes on.
 *
 * The C library's functions that ask for memory are not used in the children, which live beside almost none. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define LOST_MAX 256 /* pages that caches may have taken */

static long total_pages;  /* of the machine */
static long kernel_pages; /* of one kernel, about */

static long free_pages(void)
{
    struct sysinfo info = {0};

    sysinfo(&info);
    return (long)(info.freeram * info.mem_unit) / PAGE;
}

/* As many pages as BEFORE are free, but for a few: the last frames of a process may come back behind its end. */
static void expect_free(long before)
{
    long limit = thread_time() + TAP_PATIENCE;

    while (free_pages() <= before - LOST_MAX && thread_time() < limit)
        usleep(10000);
    tap_note("free before %ld pages, after %ld pages", before, free_pages());
    CHECK(free_pages() > before - LOST_MAX, "memory is lost");
}

static char *reserve(long pages)
{
    return mmap(NULL, (size_t)(pages * PAGE), READ_WRITE, PRIVATE | MAP_NORESERVE, -1, 0);
}

static void write_pages(char *area, long pages, uint64_t seed)
{
    for (long page = 0; page < pages; page++)
        *(volatile uint64_t *)(void *)(area + page * PAGE + 8) = seed + (uint64_t)page;
}

static bool has_pages(const char *area, long pages, uint64_t seed)
{
    for (long page = 0; page < pages; page++) {
        if (*(const volatile uint64_t *)(const void *)(area + page * PAGE + 8) != seed + (uint64_t)page ||
            *(const volatile uint64_t *)(const void *)(area + page * PAGE) != 0)
            return false;
    }
    return true;
}

/* --- more than one kernel has --- */

static int more_than_here(void *context)
{
    long pages = kernel_pages + kernel_pages / 3;
    char *area = reserve(pages);

    kernels_go(*(const int *)context);
    write_pages(area, pages, 7);
    if (!has_pages(area, pages, 7))
        return 1;
    kernels_go(*(const int *)context + 1);
    return has_pages(area, pages, 7) ? 0 : 2;
}

static void test_more_than_here(void)
{
    long before;

    if (tap_skip_alone())
        return;
    before = free_pages();
    for (int k = 0; k < 2; k++) {
        int end = tap_fork(more_than_here, &k);

        CHECK(end == 0, "kernel %d: %d", k, end);
    }
    expect_free(before);
}

/* --- copies --- */

static int write_all(void *context)
{
    long pages = kernel_pages * 2 / 3;

    write_pages(context, pages, 9);
    return has_pages(context, pages, 9) ? 0 : 1;
}

static int copies(void *context)
{
    long pages = kernel_pages * 2 / 3;
    char *area = reserve(pages);

    (void)context;
    write_pages(area, pages, 8);
    if (tap_fork(write_all, area) != 0)
        return 1;
    return has_pages(area, pages, 8) ? 0 : 2;
}

static void test_copies(void)
{
    int end;

    if (tap_skip_alone())
        return;
    end = tap_fork(copies, NULL);
    CHECK(end == 0, "%d", end);
}

/* --- more than there is --- */

static int more_than_there_is(void *context)
{
    long pages = total_pages * 2;
    char *area = reserve(pages);

    kernels_go(*(const int *)context);
    write_pages(area, pages, 10);
    return 1;
}

static int small_work(void *context)
{
    char *area = spread_memory_map(64, PRIVATE);

    (void)context;
    spread_memory_fill(area, 0, 64, 11);
    return spread_memory_holds(area, 0, 64, 11) ? 0 : 1;
}

static void test_more_than_there_is(void)
{
    long before = free_pages();

    for (int k = 0; k < 2; k++) {
        int end = tap_fork(more_than_there_is, &k);

        CHECK(end == 1000 + SIGKILL, "kernel %d: %d", k, end);
        end = tap_fork(small_work, NULL);
        CHECK(end == 0, "what comes behind it: %d", end);
    }
    if (tap_on_kettle())
        expect_free(before);
}

/* --- beside one that takes everything --- */

struct beside {
    atomic_int over;
    atomic_int forks, refused, failed;
};

/* Forks until told that it is over. It may be killed, for it needs memory itself. */
static int fork_on(void *context)
{
    struct beside *beside = context;

    while (atomic_load(&beside->over) == 0) {
        pid_t child = fork();

        if (child == 0)
            _exit(0);
        if (child > 0)
            atomic_fetch_add(&beside->forks, 1);
        else
            atomic_fetch_add(errno == ENOMEM || errno == EAGAIN ? &beside->refused : &beside->failed, 1);
        if (child > 0 && waitpid(child, NULL, 0) != child)
            atomic_fetch_add(&beside->failed, 1);
    }
    return 0;
}

/* While memory is short this process only waits: it needs none. */
static void test_beside(void)
{
    struct beside *beside = mmap(NULL, PAGE, READ_WRITE, SHARED, -1, 0);
    int status = 0, first = 0, end = -1;
    pid_t forker, greedy, ended;

    if (!CHECK(beside != MAP_FAILED, "%s", strerror(errno)))
        return;
    forker = fork();
    if (forker == 0)
        _exit(fork_on(beside));
    CHECK(forker < 0 || thread_wait(&beside->forks, 1), "it does not begin to fork");
    greedy = fork();
    if (greedy == 0)
        _exit(more_than_there_is(&first));
    CHECK(forker > 0 && greedy > 0, "%s", strerror(errno));
    ended = waitpid(greedy, &status, 0);
    atomic_store(&beside->over, 1);
    CHECK(waitpid(forker, &end, 0) == forker && (end == 0 || (WIFSIGNALED(end) && WTERMSIG(end) == SIGKILL)),
          "who forked ends with %x", (unsigned)end);
    tap_note("%d forks, %d refused%s", atomic_load(&beside->forks), atomic_load(&beside->refused),
             end == 0 ? "" : ", then killed");
    CHECK(ended == greedy && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "it ends with %x", (unsigned)status);
    CHECK(atomic_load(&beside->forks) > 0 && atomic_load(&beside->failed) == 0, "%d of %d forks fail",
          atomic_load(&beside->failed), atomic_load(&beside->forks));
    CHECK(tap_fork(small_work, NULL) == 0, "what comes behind it");
    munmap(beside, PAGE);
}

static const struct tap_test tests[] = {
    {"more-than-here", "a program can have more memory than its kernel", test_more_than_here},
    {"copies", "pages are copied where there is no memory for the copies", test_copies},
    {"more-than-there-is", "a program that wants more memory than there is is killed, and all its memory comes back",
     test_more_than_there_is},
    {"beside", "forks succeed beside a program that takes all memory", test_beside},
};

int main(int argc, char **argv)
{
    struct sysinfo info = {0};

    kernels_find();
    sysinfo(&info);
    total_pages = (long)(info.totalram * info.mem_unit) / PAGE;
    kernel_pages = total_pages / kernels_count();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
