/* What madvise refuses. */
#include "abi.h"

int main(void)
{
    char *a = MAP(3 * PAGE, MAP_PRIVATE);
    CALL(madvise(a + 1, PAGE, MADV_DONTNEED));
    CALL(madvise(a, PAGE, 9999));
    CALL(madvise(a, 0, MADV_DONTNEED));
    MUST(munmap(a + PAGE, PAGE));
    CALL(madvise(a, 3 * PAGE, MADV_DONTNEED));
    CALL(madvise(a, PAGE, MADV_WILLNEED));
    CALL(madvise(a, PAGE, MADV_SEQUENTIAL));
    return 0;
}
