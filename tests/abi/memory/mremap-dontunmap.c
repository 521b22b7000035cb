/* MREMAP_DONTUNMAP leaves empty pages behind. */
#include "abi.h"

int main(void)
{
    char *a = MAP(2 * PAGE, MAP_PRIVATE), *b;
    memset(a, 5, 2 * PAGE);
    b = mremap(a, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | 4);
    SHOW(b != MAP_FAILED && b != a);
    SHOW(b[0] + b[2 * PAGE - 1]);
    SHOW(a[0] + a[2 * PAGE - 1]);
    return 0;
}
