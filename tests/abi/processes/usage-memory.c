/* Usage tells the largest size and page faults. */
#include "abi.h"

int main(void)
{
    struct rusage before, after;
    char *a = MAP(256 * PAGE, MAP_PRIVATE);
    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < 256; i++)
        a[i * PAGE] = 1;
    getrusage(RUSAGE_SELF, &after);
    SHOW(after.ru_maxrss >= 1024);
    SHOW(after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt >= 200);
    return 0;
}
