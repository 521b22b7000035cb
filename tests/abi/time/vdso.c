/* The calls through the library and the kernel's own agree. */
#include "abi.h"

int main(void)
{
    struct timespec a, b, c;
    int64_t x, y, z;
    MUST(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &a));
    MUST(clock_gettime(CLOCK_MONOTONIC, &b));
    MUST(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &c));
    x = a.tv_sec * 1000000000L + a.tv_nsec, y = b.tv_sec * 1000000000L + b.tv_nsec,
    z = c.tv_sec * 1000000000L + c.tv_nsec;
    SHOW(x <= y && y <= z);
    SHOW(getauxval(AT_SYSINFO_EHDR) != 0);
    return 0;
}
