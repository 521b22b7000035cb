/* New anonymous pages are zero, private and shared. */
#include "abi.h"

int main(void)
{
    char *a = MAP(4 * PAGE, MAP_PRIVATE), *b = MAP(4 * PAGE, MAP_SHARED);
    long sum = 0;
    for (long i = 0; i < 4 * PAGE; i++)
        sum += a[i] + b[i];
    SHOW(sum);
    a[PAGE] = 1, b[PAGE] = 2;
    SHOW(a[PAGE] + b[PAGE]);
    return 0;
}
