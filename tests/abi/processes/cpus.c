/* The number of CPUs is the same, whoever is asked. */
#include "abi.h"

int main(void)
{
    cpu_set_t set;
    CALL(sched_getaffinity(0, sizeof(set), &set));
    SHOW(sysconf(_SC_NPROCESSORS_ONLN) == CPU_COUNT(&set));
    SHOW(sysconf(_SC_NPROCESSORS_CONF) == CPU_COUNT(&set));
    return 0;
}
