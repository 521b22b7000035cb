/* The stack grows as it is used, down to megabytes. */
#include "abi.h"

static long use(int depth)
{
    volatile char bytes[16384];
    bytes[0] = (char)depth;
    bytes[16383] = 1;
    return depth == 0 ? bytes[16383] : use(depth - 1) + bytes[0] - (char)depth + bytes[16383];
}
int main(void)
{
    SHOW(use(300));
    return 0;
}
