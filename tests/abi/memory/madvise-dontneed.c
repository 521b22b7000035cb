/* MADV_DONTNEED makes private pages zero, and leaves what shared ones have. */
#include "abi.h"

int main(void)
{
    char *a = MAP(3 * PAGE, MAP_PRIVATE), *b = MAP(PAGE, MAP_SHARED);
    memset(a, 1, 3 * PAGE);
    b[0] = 1;
    CALL(madvise(a + PAGE, PAGE, MADV_DONTNEED));
    CALL(madvise(b, PAGE, MADV_DONTNEED));
    SHOW(a[0] + a[2 * PAGE]);
    SHOW(a[PAGE]);
    SHOW(b[0]);
    return 0;
}
