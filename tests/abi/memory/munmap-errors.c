/* What munmap refuses; what is not mapped may be unmapped. */
#include "abi.h"

int main(void)
{
    char *a = MAP(4 * PAGE, MAP_PRIVATE);
    CALL(munmap(a + 1, PAGE));
    CALL(munmap(a, 0));
    CALL(munmap((void *)(1L << 62), PAGE));
    CALL(munmap(a, PAGE + 1));
    CALL(munmap(a, 4 * PAGE));
    CALL(munmap(a, 4 * PAGE));
    return 0;
}
