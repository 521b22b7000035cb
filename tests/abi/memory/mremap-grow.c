/* A mapping that may move grows, with what it had. */
#include "abi.h"

int main(void)
{
    char *a = MAP(2 * PAGE, MAP_PRIVATE), *b;
    memset(a, 'a', 2 * PAGE);
    b = mremap(a, 2 * PAGE, 64 * PAGE, MREMAP_MAYMOVE);
    SHOW(b != MAP_FAILED);
    SHOW(b[0] + b[2 * PAGE - 1]);
    SHOW(b[2 * PAGE] + b[64 * PAGE - 1]);
    b[64 * PAGE - 1] = 'z';
    CALL(munmap(b, 64 * PAGE));
    return 0;
}
