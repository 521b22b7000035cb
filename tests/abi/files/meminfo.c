/* /proc/meminfo's lines, and that memory in use is told. */
#include "abi.h"

int main(void)
{
    static const char *const names[] = {"MemTotal",  "MemFree",  "MemAvailable", "Buffers", "Cached",
                                        "SwapTotal", "SwapFree", "Shmem",        "Slab"};
    char line[128];
    for (int i = 0; i < 9; i++) {
        FILE *file = fopen("/proc/meminfo", "r");
        int found = 0;
        while (fgets(line, sizeof(line), file) != NULL) {
            char *colon = strchr(line, ':');
            found += colon != NULL && (size_t)(colon - line) == strlen(names[i]) &&
                     strncmp(line, names[i], strlen(names[i])) == 0 && strstr(line, " kB\n") != NULL;
        }
        fclose(file);
        printf("%s %d\n", names[i], found);
    }
    return 0;
}
