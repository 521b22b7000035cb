/* The kernels that a test of moves goes to. tests/guest/migrate/migrate_route.h is the contract. */
#include "tests/guest/migrate/migrate_route.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"

struct route route;
static uint64_t random_state = 42;

bool route_begin(int limit)
{
    int started[ROUTE_MAX];
    int all = tap_kernels(started);
    bool home_used = false;

    if (tap_skip_alone())
        return false;
    route.count = all < limit ? all : limit;
    for (int i = 0; i < route.count; i++) {
        route.kernels[i] = started[i * all / route.count];
        /* The kernels between this one and the next are left out; home must not be. */
        if (route.home >= route.kernels[i] &&
            (i == route.count - 1 || route.home < started[(i + 1) * all / route.count]))
            route.kernels[i] = route.home;
        home_used = home_used || route.kernels[i] == route.home;
    }
    return CHECK(home_used, "kernel %d, where the test starts, is not among the started ones", route.home);
}

bool route_move(int kernel)
{
    int result = kettle_migrate(kernel);

    return CHECK(result == 0, "to kernel %d: %s", kernel, strerror(errno)) &&
           CHECK(kettle_kernel() == kernel, "moved to %d", kernel);
}

int route_after(int kernel, int steps)
{
    for (int i = 0; i < route.count; i++) {
        if (route.kernels[i] == kernel)
            return route.kernels[(i + steps) % route.count];
    }
    return kernel;
}

int route_random(void)
{
    return route.kernels[tap_random(&random_state) % (uint64_t)route.count];
}

int route_away(void)
{
    return route_after(route.home, 1);
}

char *route_map(long pages, int protection)
{
    char *area = mmap(NULL, (size_t)(pages * PAGE), protection, PRIVATE, -1, 0);

    CHECK(area != MAP_FAILED, "%ld pages: %s", pages, strerror(errno));
    return area == MAP_FAILED ? NULL : area;
}
