/* Tests of memory over kernels. userland/tests/spread.h is the contract. */
#include "userland/tests/spread.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userland/tests/machine.h"
#include "userland/tests/tap.h"
#include "userland/tests/thread.h"

static int kernels[64];
static int count;

void spread_begin(void)
{
    int all = tap_kernels(kernels);

    count = all < SPREAD_MAX ? all : SPREAD_MAX;
    for (int i = 0; i < count; i++)
        kernels[i] = kernels[i * all / count];
}

int spread_count(void)
{
    return count;
}

void spread_go(long number)
{
    thread_move(kernels[(unsigned long)number % (unsigned long)count]);
}

char *spread_map(long pages, int type)
{
    char *area = mmap(NULL, (size_t)(pages * PAGE), READ_WRITE, type, -1, 0);

    EXPECT(area != MAP_FAILED, "%ld pages: %s", pages, strerror(errno));
    return area == MAP_FAILED ? NULL : area;
}

static uint64_t word(int seed, long page)
{
    return seed == 0 ? 0 : (uint64_t)seed * 1000003 + (uint64_t)page;
}

void spread_fill(char *area, long first, long last, int seed)
{
    for (int k = 0; k < count && k < last - first; k++) {
        spread_go(k);
        for (long page = first + k; page < last; page += count) {
            *(volatile uint64_t *)(void *)(area + page * PAGE) = word(seed, page);
            *(volatile uint64_t *)(void *)(area + page * PAGE + PAGE - 8) = word(seed, page);
        }
    }
    spread_go(0);
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

bool spread_holds(const char *area, long first, long last, int seed)
{
    bool all = true;

    for (int k = count - 1; k >= 0; k--) {
        spread_go(k);
        all = holds(area, first, last, seed) && all;
    }
    return all;
}

bool spread_readable(const void *address)
{
    errno = 0;
    return syscall(SYS_open, address, 0) == -1 && errno != EFAULT;
}

int spread_child(int (*body)(void *context), void *context)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0)
        _exit(body(context));
    if (child < 0 || waitpid(child, &status, 0) != child)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}
