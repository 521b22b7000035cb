/* Visiting kernels. userland/tests/visit.h is the contract. */
#include "userland/tests/visit.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "userland/tests/tap.h"

struct visit visit;
static uint64_t random_state = 42;

bool visit_begin(int limit)
{
    int started[VISIT_MAX];
    int all = tap_kernels(started);
    bool home_used = false;

    if (tap_skip_alone())
        return false;
    visit.count = all < limit ? all : limit;
    for (int i = 0; i < visit.count; i++) {
        visit.kernels[i] = started[i * all / visit.count];
        /* The kernels between this one and the next are left out; home must not be. */
        if (visit.home >= visit.kernels[i] &&
            (i == visit.count - 1 || visit.home < started[(i + 1) * all / visit.count]))
            visit.kernels[i] = visit.home;
        home_used = home_used || visit.kernels[i] == visit.home;
    }
    return EXPECT(home_used, "kernel %d, where the test starts, is not among the started ones", visit.home);
}

bool visit_move(int kernel)
{
    int result = kettle_migrate(kernel);

    return EXPECT(result == 0, "to kernel %d: %s", kernel, strerror(errno)) &&
           EXPECT(kettle_kernel() == kernel, "moved to %d", kernel);
}

int visit_after(int kernel, int steps)
{
    for (int i = 0; i < visit.count; i++) {
        if (visit.kernels[i] == kernel)
            return visit.kernels[(i + steps) % visit.count];
    }
    return kernel;
}

int visit_random(void)
{
    return visit.kernels[tap_random(&random_state) % (uint64_t)visit.count];
}

int visit_away(void)
{
    return visit_after(visit.home, 1);
}

char *visit_map(long pages, int protection)
{
    char *area = mmap(NULL, (size_t)(pages * PAGE), protection, ANONYMOUS, -1, 0);

    EXPECT(area != MAP_FAILED, "%ld pages: %s", pages, strerror(errno));
    return area == MAP_FAILED ? NULL : area;
}

bool visit_readable(const void *address)
{
    errno = 0;
    return syscall(SYS_open, address, 0) == -1 && errno != EFAULT;
}

bool visit_writable(void *address)
{
    errno = 0;
    return syscall(SYS_clock_gettime, CLOCK_MONOTONIC, address) == 0;
}

long visit_time(void)
{
    struct timespec time = {0};

    EXPECT(clock_gettime(CLOCK_MONOTONIC, &time) == 0, "%s", strerror(errno));
    return time.tv_sec * 1000000000l + time.tv_nsec;
}
