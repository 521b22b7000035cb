/* MAP_FIXED replaces what was mapped there. */
#include "abi.h"

int main(void)
{
    char *a = MAP(3 * PAGE, MAP_PRIVATE);
    memset(a, 'x', 3 * PAGE);
    SHOW(mmap(a + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == a + PAGE);
    SHOW(a[PAGE - 1]);
    SHOW(a[PAGE]);
    SHOW(a[2 * PAGE - 1]);
    SHOW(a[2 * PAGE]);
    return 0;
}
