/* test-migrate: system calls made away from home. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "tests/guest/harness/tap.h"
#include "tests/guest/migrate/migrate.h"
#include "tests/guest/migrate/migrate_route.h"

void migrate_test_kernel_access(void)
{
    char *area;

    if (!route_begin(ROUTE_FEW))
        return;
    area = route_map(2l * route.count, READ_WRITE);
    if (area == NULL)
        return;
    for (int i = 0; i < route.count; i++) {
        char *target = area + (2 * i + 1) * PAGE - 8; /* across two pages */
        struct iovec part = {NULL, 0};

        route_move(route.kernels[i]);
        CHECK(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, target) == 0, "%s", strerror(errno));
        route_move(route_after(route.kernels[i], 1));
        CHECK(memcmp(target, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16) != 0, "what kernel %d wrote is not here",
              route.kernels[i]);
        memcpy(target, "/no/such/file..", 16);
        memcpy(area + 2 * i * PAGE, &part, sizeof(part));
        route_move(route.kernels[i]);
        CHECK_ERROR(syscall(SYS_open, target, 0), ENOENT);
        CHECK(writev(1, (struct iovec *)(area + 2 * i * PAGE), 1) == 0, "%s", strerror(errno));
        CHECK_ERROR(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, TAP_UNMAPPED), EFAULT);
        CHECK_ERROR(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, TAP_KERNEL_ADDRESS), EFAULT);
        CHECK_ERROR(write(-1, "", 0), EBADF);
    }
    route_move(route.home);
    munmap(area, (size_t)(2 * route.count * PAGE));
}

void migrate_test_output(void)
{
    if (!route_begin(ROUTE_ALL))
        return;
    fflush(stdout);
    for (int i = 0; i < 2 * route.count; i++) {
        char line[64];
        int length = snprintf(line, sizeof(line), "# line %d of %d, written on kernel %d\n", i + 1, 2 * route.count,
                              route.kernels[i % route.count]);

        route_move(route.kernels[i % route.count]);
        CHECK(write(1, line, (size_t)length) == length, "%s", strerror(errno));
    }
    for (int i = 0; i < route.count; i++) {
        route_move(route.kernels[i]);
        /* Buffered here, and written out wherever the buffer is full. */
        printf("# printed on kernel %d\n", route.kernels[i]);
    }
    CHECK(fflush(stdout) == 0, "%s", strerror(errno));
    route_move(route.home);
}
