/* test-migrate: system calls made away from home. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "userland/tests/migrate.h"
#include "userland/tests/tap.h"
#include "userland/tests/visit.h"

void test_kernel_access(void)
{
    char *area;

    if (!visit_begin(VISIT_FEW))
        return;
    area = visit_map(2l * visit.count, READ_WRITE);
    if (area == NULL)
        return;
    for (int i = 0; i < visit.count; i++) {
        char *target = area + (2 * i + 1) * PAGE - 8; /* across two pages */
        struct iovec part = {NULL, 0};

        visit_move(visit.kernels[i]);
        EXPECT(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, target) == 0, "%s", strerror(errno));
        visit_move(visit_after(visit.kernels[i], 1));
        EXPECT(memcmp(target, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16) != 0, "what kernel %d wrote is not here",
               visit.kernels[i]);
        memcpy(target, "/no/such/file..", 16);
        memcpy(area + 2 * i * PAGE, &part, sizeof(part));
        visit_move(visit.kernels[i]);
        EXPECT_ERROR(syscall(SYS_open, target, 0), ENOENT);
        EXPECT(writev(1, (struct iovec *)(area + 2 * i * PAGE), 1) == 0, "%s", strerror(errno));
        EXPECT_ERROR(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, TAP_UNMAPPED), EFAULT);
        EXPECT_ERROR(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, TAP_KERNEL_ADDRESS), EFAULT);
        EXPECT_ERROR(write(-1, "", 0), EBADF);
    }
    visit_move(visit.home);
    munmap(area, (size_t)(2 * visit.count * PAGE));
}

void test_output(void)
{
    if (!visit_begin(VISIT_ALL))
        return;
    fflush(stdout);
    for (int i = 0; i < 2 * visit.count; i++) {
        char line[64];
        int length = snprintf(line, sizeof(line), "# line %d of %d, written on kernel %d\n", i + 1, 2 * visit.count,
                              visit.kernels[i % visit.count]);

        visit_move(visit.kernels[i % visit.count]);
        EXPECT(write(1, line, (size_t)length) == length, "%s", strerror(errno));
    }
    for (int i = 0; i < visit.count; i++) {
        visit_move(visit.kernels[i]);
        /* Buffered here, and written out wherever the buffer is full. */
        printf("# printed on kernel %d\n", visit.kernels[i]);
    }
    EXPECT(fflush(stdout) == 0, "%s", strerror(errno));
    visit_move(visit.home);
}
