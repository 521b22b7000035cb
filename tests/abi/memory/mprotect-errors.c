/* mprotect of unaligned addresses, holes and strange bits. */
#include "abi.h"

int main(void)
{
    char *a = MAP(4 * PAGE, MAP_PRIVATE);
    CALL(mprotect(a + 1, PAGE, PROT_READ));
    CALL(mprotect(a, 0, PROT_READ));
    CALL(mprotect(a, PAGE, 0x1000));
    MUST(munmap(a + 2 * PAGE, PAGE));
    CALL(mprotect(a, 4 * PAGE, PROT_READ));
    CALL(mprotect(a + 2 * PAGE, PAGE, PROT_READ));
    CALL(mprotect(a, 2 * PAGE, PROT_READ | PROT_WRITE));
    return 0;
}
