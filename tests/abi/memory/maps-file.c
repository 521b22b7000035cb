/* /proc/self/maps tells a mapping with its permissions, and no more once it is unmapped. */
#include "abi.h"

static void find(char *a)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512], flags[8];
    unsigned long from, to;
    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
        if (sscanf(line, "%lx-%lx %7s", &from, &to, flags) == 3 && from <= (unsigned long)a && (unsigned long)a < to) {
            printf("+%ld %s\n", (long)((unsigned long)a - from), flags);
            fclose(maps);
            return;
        }
    }
    printf("not mapped\n");
}
int main(void)
{
    char *a = MAP(8 * PAGE, MAP_PRIVATE);
    MUST(mprotect(a, 4 * PAGE, PROT_READ));
    MUST(mprotect(a + 4 * PAGE, 4 * PAGE, PROT_NONE));
    find(a + PAGE);
    MUST(munmap(a, 8 * PAGE));
    find(a + PAGE);
    a = MAP(PAGE, MAP_SHARED);
    find(a);
    return 0;
}
