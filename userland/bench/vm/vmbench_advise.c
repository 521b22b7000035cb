/* vmbench: madvise of one page in the middle of a range, by one thread at home or elsewhere: an advice that lasts and
 * is taken back, one that does nothing, and MADV_DONTNEED of a page that was touched, of private memory and of a file.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "userland/bench/vm/vmbench.h"

#define PAGES 64u
#define WARM_UP 4

static int advise(char *page, int advice)
{
    return madvise(page, BENCH_PAGE, advice) == 0 ? 0 : bench_failed("madvise", errno);
}

static int lasting(char *page)
{
    int error = advise(page, MADV_DONTFORK);

    return error != 0 ? error : advise(page, MADV_DOFORK);
}

static int hint(char *page)
{
    return advise(page, MADV_RANDOM);
}

static int drop(char *page)
{
    *(volatile char *)page = 1;
    return advise(page, MADV_DONTNEED);
}

static char *map_file(void)
{
    static const char path[] = "/tmp/vmbench-advise";
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    char *range = MAP_FAILED;

    if (file >= 0 && ftruncate(file, PAGES * BENCH_PAGE) == 0)
        range = mmap(NULL, PAGES * BENCH_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0)
        close(file);
    unlink(path);
    return range;
}

/* OPERATE is given one page after the other, without the first and the last, each touched once before. */
static int run(const struct vmbench_case *bench, uint32_t count, bool of_file, int (*operate)(char *page))
{
    char *range = of_file ? map_file()
                          : mmap(NULL, PAGES * BENCH_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int error = range == MAP_FAILED ? bench_failed("mmap", errno) : vmbench_go(bench);

    for (uint32_t i = 0; i < PAGES && error == 0; i++)
        ((volatile char *)range)[(size_t)i * BENCH_PAGE] = 1;
    for (uint32_t i = 0; i < count + WARM_UP && error == 0; i++) {
        if (i == WARM_UP)
            error = vmbench_messages_begin();
        if (i >= WARM_UP)
            bench_begin();
        error = error != 0 ? error : operate(range + (size_t)(1 + i % (PAGES - 2)) * BENCH_PAGE);
        if (i >= WARM_UP)
            bench_end();
    }
    return error != 0 ? error : vmbench_messages_end();
}

int vmbench_run_advise_lasting(const struct vmbench_case *bench, uint32_t count)
{
    return run(bench, count, false, lasting);
}

int vmbench_run_advise_hint(const struct vmbench_case *bench, uint32_t count)
{
    return run(bench, count, false, hint);
}

int vmbench_run_advise_drop(const struct vmbench_case *bench, uint32_t count)
{
    return run(bench, count, false, drop);
}

int vmbench_run_advise_drop_file(const struct vmbench_case *bench, uint32_t count)
{
    return run(bench, count, true, drop);
}
