/* /sys lists nodes with their CPUs, distances and memory. */
#include "abi.h"

static void tell(const char *format, int number)
{
    char name[64];
    snprintf(name, sizeof(name), format, number);
    tell_file(name);
}
int main(void)
{
    long total;
    tell_file("/sys/devices/system/node/online");
    tell_file("/sys/devices/system/node/possible");
    tell_file("/sys/devices/system/node/has_cpu");
    tell_file("/sys/devices/system/node/has_memory");
    for (int i = 0; i < 3; i++) {
        char name[64];
        FILE *file;
        tell("/sys/devices/system/node/node%d/cpulist", i);
        tell("/sys/devices/system/node/node%d/distance", i);
        snprintf(name, sizeof(name), "/sys/devices/system/node/node%d/meminfo", i);
        file = fopen(name, "r");
        printf("%d\n", file != NULL && fscanf(file, "Node %*d MemTotal: %ld kB", &total) == 1 && total > 10000);
    }
    return 0;
}
