/* MAP_FIXED_NOREPLACE refuses what is mapped. */
#include "abi.h"

int main(void)
{
    char *a = MAP(3 * PAGE, MAP_PRIVATE);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | 0x100000;
    CALL(mmap(a, PAGE, PROT_READ, flags, -1, 0));
    MUST(munmap(a + PAGE, PAGE));
    CALL(mmap(a + PAGE, 2 * PAGE, PROT_READ, flags, -1, 0));
    SHOW(mmap(a + PAGE, PAGE, PROT_READ, flags, -1, 0) == a + PAGE);
    return 0;
}
