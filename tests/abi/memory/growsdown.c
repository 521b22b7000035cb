/* A MAP_GROWSDOWN area grows when it is touched below. */
#include "abi.h"

int main(void)
{
    char *a = MAP(64 * PAGE, MAP_PRIVATE);
    volatile char *b;
    MUST(munmap(a, 64 * PAGE));
    b = mmap(a + 60 * PAGE, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_GROWSDOWN,
             -1, 0);
    MUST((long)b);
    b[0] = 1;
    b[-PAGE] = 2;
    b[-2 * PAGE] = 3;
    SHOW(b[0] + b[-PAGE] + b[-2 * PAGE]);
    return 0;
}
