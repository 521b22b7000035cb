/* /sys tells which CPUs there are, as the scheduler does. */
#include "abi.h"

int main(void)
{
    static const char *const names[] = {"possible", "present", "online"};
    cpu_set_t set;
    char name[64], text[64], want[64];
    MUST(sched_getaffinity(0, sizeof(set), &set));
    snprintf(want, sizeof(want), CPU_COUNT(&set) == 1 ? "0\n" : "0-%d\n", CPU_COUNT(&set) - 1);
    for (int i = 0; i < 3; i++) {
        int fd;
        ssize_t count;
        snprintf(name, sizeof(name), "/sys/devices/system/cpu/%s", names[i]);
        fd = (int)MUST(open(name, O_RDONLY));
        count = MUST(read(fd, text, sizeof(text) - 1));
        text[count] = '\0';
        printf("%s %d\n", names[i], strcmp(text, want));
    }
    return 0;
}
