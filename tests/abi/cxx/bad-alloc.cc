// An allocation that cannot be is std::bad_alloc.
#include "abi.h"

#include <new>
#include <vector>

int main(int, char **)
{
    try {
        std::vector<char> large;
        large.resize((size_t)1 << 60);
        printf("%d\n", large[5]);
    } catch (const std::bad_alloc &) {
        printf("bad_alloc\n");
    }
    SHOW(new (std::nothrow) char[(size_t)1 << 60] == nullptr);
    return 0;
}
