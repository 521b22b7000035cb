/* What the affinity calls refuse. */
#include "abi.h"

int main(void)
{
    cpu_set_t none, all;
    CPU_ZERO(&none);
    CALL(sched_setaffinity(0, sizeof(none), &none));
    CALL(sched_setaffinity(999999, sizeof(none), &none));
    CALL(sched_getaffinity(999999, sizeof(all), &all));
    CALL(syscall(SYS_sched_getaffinity, 0, 1L, &all));
    CALL(syscall(SYS_sched_getaffinity, 0, 0L, &all));
    CALL(syscall(SYS_sched_getaffinity, 0, sizeof(all), NULL));
    SHOW(syscall(SYS_sched_getaffinity, 0, sizeof(all), &all) % 8);
    CPU_SET(1000, &none);
    CALL(sched_setaffinity(0, sizeof(none), &none));
    return 0;
}
