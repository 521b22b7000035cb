/* Files of /sys and /proc that are for reading cannot be made or removed. */
#include "abi.h"

int main(void)
{
    struct stat facts;
    CALL(open("/sys/devices/system/cpu/none", O_RDONLY));
    CALL(open("/proc/new", O_WRONLY | O_CREAT, 0600));
    CALL(mkdir("/sys/new", 0755));
    CALL(unlink("/proc/version"));
    CALL(rmdir("/sys/devices"));
    MUST(stat("/sys/devices/system/cpu/online", &facts));
    printf("%o\n", facts.st_mode);
    MUST(stat("/sys/devices/system/node", &facts));
    printf("%o\n", facts.st_mode);
    return 0;
}
