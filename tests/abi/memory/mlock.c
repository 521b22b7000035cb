/* Locked memory is in memory; what cannot be locked is ENOMEM. */
#include "abi.h"

int main(void)
{
    char *a = MAP(4 * PAGE, MAP_PRIVATE);
    unsigned char in[4];
    CALL(mlock(a, 2 * PAGE));
    MUST(mincore(a, 4 * PAGE, in));
    printf("%d %d %d\n", in[0] & 1, in[1] & 1, in[3] & 1);
    CALL(munlock(a, 2 * PAGE));
    munmap(a + PAGE, PAGE);
    CALL(mlock(a, 4 * PAGE));
    CALL(mlockall(0));
    CALL(mlockall(MCL_CURRENT));
    CALL(munlockall());
    return 0;
}
