/* Shared anonymous memory is the same in parent and child. */
#include "abi.h"

static int *a;
static int child(void)
{
    a[0]++;
    a[2048]++;
    return a[1];
}
int main(void)
{
    a = (int *)MAP(4 * PAGE, MAP_SHARED);
    a[0] = 41, a[1] = 7;
    reap(spawn(child));
    SHOW(a[0]);
    SHOW(a[2048]);
    return 0;
}
