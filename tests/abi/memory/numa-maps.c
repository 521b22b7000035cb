/* /proc/self/numa_maps tells a mapping's policy and its pages; flags of policies are accepted or refused. */
#include "abi.h"
#include <sys/syscall.h>

#define BALANCING 0x2000
#define STATIC 0x8000

static void find(const char *when, char *a)
{
    FILE *maps = fopen("/proc/self/numa_maps", "r");
    char line[1024], policy[64];
    unsigned long from;
    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
        unsigned long anon = 0, dirty = 0, on = 0, pages, node;
        if (sscanf(line, "%lx %63s", &from, policy) != 2 || from != (unsigned long)a)
            continue;
        for (char *word = strtok(line, " \n"); word != NULL; word = strtok(NULL, " \n")) {
            sscanf(word, "anon=%lu", &anon);
            sscanf(word, "dirty=%lu", &dirty);
            if (sscanf(word, "N%lu=%lu", &node, &pages) == 2)
                on += pages;
        }
        printf("%s: %s anon %lu dirty %lu on nodes %lu\n", when, policy, anon, dirty, on);
        fclose(maps);
        return;
    }
    printf("%s: not mapped\n", when);
    if (maps != NULL)
        fclose(maps);
}

static void set(char *a, const char *name, int mode, unsigned long nodes)
{
    long done = syscall(SYS_mbind, a, 16 * PAGE, mode, &nodes, 65ul, 0);
    printf("%s: %s\n", name, done == 0 ? "0" : strerror(errno));
    find(name, a);
}

int main(void)
{
    char *a = MAP(16 * PAGE, MAP_PRIVATE);
    MUST(madvise(a, 16 * PAGE, MADV_NOHUGEPAGE));
    MUST(mprotect(a + 16 * PAGE - PAGE, PAGE, PROT_NONE)); /* so that nothing is merged with it */
    find("untouched", a);
    for (int i = 0; i < 10; i++)
        a[i * PAGE] = 1;
    find("touched", a);
    set(a, "bind", 2, 1);
    set(a, "prefer", 1, 1);
    set(a, "interleave", 3, 1);
    set(a, "static", 2 | STATIC, 1);
    set(a, "balancing", 2 | BALANCING, 1);
    set(a, "prefer balancing", 1 | BALANCING, 1);
    set(a, "interleave balancing", 3 | BALANCING, 1);
    set(a, "no such mode", 77, 1);
    set(a, "local", 4, 0);
    set(a, "default", 0, 0);
    MUST(munmap(a, 15 * PAGE));
    find("unmapped", a);
    return 0;
}
