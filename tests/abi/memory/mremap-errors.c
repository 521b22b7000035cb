/* What mremap refuses. */
#include "abi.h"

int main(void)
{
    char *a = MAP(4 * PAGE, MAP_PRIVATE);
    CALL(mremap(a + 1, PAGE, PAGE, 0));
    CALL(mremap(a, PAGE, 0, 0));
    CALL(mremap(a, PAGE, PAGE, 0x100));
    CALL(mremap(a, PAGE, PAGE, MREMAP_FIXED, a + 2 * PAGE));
    CALL(mremap(a, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, a + PAGE));
    CALL(mremap(a, 2 * PAGE, 3 * PAGE, 0));
    MUST(munmap(a + 3 * PAGE, PAGE));
    CALL(mremap(a + 3 * PAGE, PAGE, 2 * PAGE, MREMAP_MAYMOVE));
    CALL(mremap(a + 2 * PAGE, 2 * PAGE, 3 * PAGE, MREMAP_MAYMOVE));
    return 0;
}
