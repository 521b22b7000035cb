/* Files of /proc that tools read can be opened and have their first words. */
#include "abi.h"

int main(void)
{
    static const char *const names[] = {"meminfo",
                                        "stat",
                                        "uptime",
                                        "loadavg",
                                        "version",
                                        "cpuinfo",
                                        "mounts",
                                        "filesystems",
                                        "sys/kernel/ostype",
                                        "sys/kernel/pid_max",
                                        "sys/vm/overcommit_memory",
                                        "self/mountinfo",
                                        "self/limits",
                                        "self/maps",
                                        "self/statm",
                                        "self/environ",
                                        "self/smaps",
                                        "self/io"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char name[64], word[4] = "";
        snprintf(name, sizeof(name), "/proc/%s", names[i]);
        FILE *file = fopen(name, "r");
        if (file == NULL)
            printf("%s: %s\n", name, errno_name(errno));
        else
            printf("%s: %d\n", name, fread(word, 1, 1, file) == 1);
    }
    return 0;
}
