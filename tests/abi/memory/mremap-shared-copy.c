/* An old size of 0 makes a second mapping of shared pages. */
#include "abi.h"

int main(void)
{
    char *a = MAP(PAGE, MAP_SHARED), *b;
    a[0] = 1;
    b = mremap(a, 0, PAGE, MREMAP_MAYMOVE);
    SHOW(b != MAP_FAILED && b != a);
    b[0] = 2;
    SHOW(a[0]);
    a[1] = 3;
    SHOW(b[1]);
    return 0;
}
