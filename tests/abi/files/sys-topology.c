/* /sys tells cores, packages and siblings of a CPU, and the node that it is on. */
#include "abi.h"

int main(void)
{
    struct stat facts;
    char text[128];
    ssize_t count;
    tell_file("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list");
    tell_file("/sys/devices/system/cpu/cpu1/topology/thread_siblings_list");
    tell_file("/sys/devices/system/cpu/cpu1/topology/core_id");
    SHOW(access("/sys/devices/system/cpu/cpu0/topology/core_siblings_list", R_OK));
    SHOW(access("/sys/devices/system/cpu/cpu0/topology/physical_package_id", R_OK));
    SHOW(access("/sys/devices/system/cpu/cpu99", F_OK));
    CALL(lstat("/sys/devices/system/cpu/cpu0/node0", &facts));
    SHOW(S_ISLNK(facts.st_mode));
    count = readlink("/sys/devices/system/cpu/cpu0/node0", text, sizeof(text) - 1);
    text[count < 0 ? 0 : count] = '\0';
    TEXT(text);
    tell_file("/sys/devices/system/cpu/cpu0/node0/cpulist");
    tell_file("/sys/devices/system/node/node0/cpu0/topology/thread_siblings_list");
    return 0;
}
