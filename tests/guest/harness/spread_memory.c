/* Memory that is spread over kernels. tests/guest/harness/spread_memory.h is the contract. */
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/several_kernels.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/tap.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define BLOCK 16l /* pages */

char *spread_memory_map(long pages, int type)
{
    char *area = mmap(NULL, (size_t)(pages * PAGE), READ_WRITE, type, -1, 0);

    CHECK(area != MAP_FAILED, "%ld pages: %s", pages, strerror(errno));
    return area == MAP_FAILED ? NULL : area;
}

char *spread_memory_map_blocks(long pages, int type)
{
    char *at = spread_memory_map(pages + BLOCK, type);
    size_t before = -(uintptr_t)at % (size_t)(BLOCK * PAGE), behind = (size_t)(BLOCK * PAGE) - before;

    if (at == NULL)
        return NULL;
    if (before != 0)
        munmap(at, before);
    if (behind != 0)
        munmap(at + before + pages * PAGE, behind);
    return at + before;
}

static uint64_t word(int seed, long page)
{
    return seed == 0 ? 0 : (uint64_t)seed * 1000003 + (uint64_t)page;
}

void spread_memory_fill(char *area, long first, long last, int seed)
{
    for (int k = 0; k < kernels_count() && k < last - first; k++) {
        kernels_go(k);
        for (long page = first + k; page < last; page += kernels_count()) {
            *(volatile uint64_t *)(void *)(area + page * PAGE) = word(seed, page);
            *(volatile uint64_t *)(void *)(area + page * PAGE + PAGE - 8) = word(seed, page);
        }
    }
    kernels_go(0);
}

static bool holds(const char *area, long first, long last, int seed)
{
    for (long page = first; page < last; page++) {
        if (*(const volatile uint64_t *)(const void *)(area + page * PAGE) != word(seed, page) ||
            *(const volatile uint64_t *)(const void *)(area + page * PAGE + PAGE - 8) != word(seed, page))
            return false;
    }
    return true;
}

bool spread_memory_holds(const char *area, long first, long last, int seed)
{
    bool all = true;

    for (int k = kernels_count() - 1; k >= 0; k--) {
        kernels_go(k);
        all = holds(area, first, last, seed) && all;
    }
    return all;
}

bool memory_readable(const void *address)
{
    errno = 0;
    return syscall(SYS_open, address, 0) == -1 && errno != EFAULT;
}

bool memory_writable(void *address)
{
    errno = 0;
    return syscall(SYS_clock_gettime, CLOCK_MONOTONIC, address) == 0;
}
