/* msync of anonymous memory, and its errors. */
#include "abi.h"

int main(void)
{
    char *a = MAP(2 * PAGE, MAP_SHARED);
    CALL(msync(a, 2 * PAGE, MS_SYNC));
    CALL(msync(a + 1, PAGE, MS_SYNC));
    CALL(msync(a, PAGE, MS_SYNC | MS_ASYNC));
    CALL(msync(a, PAGE, 0x100));
    MUST(munmap(a + PAGE, PAGE));
    CALL(msync(a, 2 * PAGE, MS_ASYNC));
    return 0;
}
