/* Links that lead to each other are ELOOP; chains are followed. */
#include "abi.h"

int main(void)
{
    char a[16], b[16];
    MUST(symlink("b", "a"));
    MUST(symlink("a", "b"));
    CALL(open("a", O_RDONLY));
    put_file("l0", "the end of the chain");
    for (int i = 1; i <= 41; i++) {
        snprintf(a, sizeof(a), "l%d", i - 1);
        snprintf(b, sizeof(b), "l%d", i);
        MUST(symlink(a, b));
    }
    tell_file("l40");
    tell_file("l41");
    return 0;
}
