/* /proc/self/status has the lines that programs read. */
#include "abi.h"

int main(void)
{
    static const char *const names[] = {"Name:",
                                        "State:",
                                        "Tgid:",
                                        "Pid:",
                                        "PPid:",
                                        "Uid:",
                                        "Gid:",
                                        "VmSize:",
                                        "VmRSS:",
                                        "Threads:",
                                        "SigCgt:",
                                        "Cpus_allowed:",
                                        "Cpus_allowed_list:",
                                        "Mems_allowed_list:"};
    FILE *file = fopen("/proc/self/status", "r");
    char line[512];
    int found[14] = {0};
    MUST(file == NULL ? -1 : 0);
    while (fgets(line, sizeof(line), file) != NULL) {
        for (int i = 0; i < 14; i++)
            found[i] += strncmp(line, names[i], strlen(names[i])) == 0;
        if (strncmp(line, "Threads:", 8) == 0 || strncmp(line, "Uid:", 4) == 0)
            printf("%s", line);
    }
    for (int i = 0; i < 14; i++)
        printf("%s %d\n", names[i], found[i]);
    return 0;
}
