/* A mapping moves over another one, which goes. */
#include "abi.h"

int main(void)
{
    char *a = MAP(PAGE, MAP_PRIVATE), *b = MAP(3 * PAGE, MAP_PRIVATE);
    a[0] = 'a';
    memset(b, 'b', 3 * PAGE);
    SHOW(mremap(a, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, b + PAGE) == b + PAGE);
    SHOW(b[0]);
    SHOW(b[PAGE]);
    SHOW(b[PAGE + 1]);
    SHOW(b[2 * PAGE]);
    SHOW(mmap(a, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == a);
    return 0;
}
