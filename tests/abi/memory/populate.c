/* MAP_POPULATE and MAP_LOCKED bring pages in at once. */
#include "abi.h"

int main(void)
{
    char *a = MAP(4 * PAGE, MAP_PRIVATE | MAP_POPULATE), *b = MAP(2 * PAGE, MAP_PRIVATE | MAP_LOCKED);
    unsigned char in[4];
    MUST(mincore(a, 4 * PAGE, in));
    printf("%d %d %d %d\n", in[0] & 1, in[1] & 1, in[2] & 1, in[3] & 1);
    MUST(mincore(b, 2 * PAGE, in));
    printf("%d %d\n", in[0] & 1, in[1] & 1);
    return 0;
}
