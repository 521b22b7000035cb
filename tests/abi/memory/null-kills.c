/* Without a handler a bad address kills with SIGSEGV. */
#include "abi.h"

int main(void)
{
    volatile char *volatile a = NULL;
    printf("before\n");
    a[0] = 1;
    printf("after\n");
    return 0;
}
