/* A free address that is hinted at is taken; one in use is not. */
#include "abi.h"

int main(void)
{
    char *a = MAP(2 * PAGE, MAP_PRIVATE), *b;
    MUST(munmap(a, 2 * PAGE));
    b = mmap(a, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    SHOW(b == a);
    b = mmap(a, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    SHOW(b != a && b != MAP_FAILED);
    return 0;
}
