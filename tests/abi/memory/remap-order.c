/* Pages keep their contents when mappings are cut, moved and joined many times. */
#include "abi.h"

int main(void)
{
    char *a = MAP(32 * PAGE, MAP_PRIVATE), *space = MAP(64 * PAGE, MAP_PRIVATE);
    long wrong = 0;
    for (int i = 0; i < 32; i++)
        a[i * PAGE] = (char)(i + 1);
    for (int i = 0; i < 32; i++)
        MUST((long)mremap(a + i * PAGE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, space + (i * 7 % 32) * 2 * PAGE));
    for (int i = 0; i < 32; i++)
        wrong += space[(i * 7 % 32) * 2 * PAGE] != (char)(i + 1);
    SHOW(wrong);
    return 0;
}
