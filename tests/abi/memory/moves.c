/* A thread that moves from CPU to CPU has all its memory everywhere. */
#include "abi.h"

int main(void)
{
    int *a = (int *)MAP(64 * PAGE, MAP_PRIVATE);
    long sum = 0;
    for (int i = 0; i < 64; i++) {
        go(i);
        a[i * 1024] = i;
        for (int k = 0; k <= i; k++)
            sum += a[k * 1024] - k;
    }
    SHOW(sum);
    return 0;
}
