/* Touched pages are in memory. */
#include "abi.h"

int main(void)
{
    char *a = MAP(4 * PAGE, MAP_PRIVATE);
    unsigned char in[4];
    a[0] = a[3 * PAGE] = 1;
    CALL(mincore(a, 4 * PAGE, in));
    printf("%d %d %d %d\n", in[0] & 1, in[1] & 1, in[2] & 1, in[3] & 1);
    CALL(mincore(a + 1, PAGE, in));
    CALL(mincore(a, PAGE, (void *)1));
    munmap(a, PAGE);
    CALL(mincore(a, 4 * PAGE, in));
    return 0;
}
