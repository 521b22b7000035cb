/* A page written by three generations has a value in each. */
#include "abi.h"

static volatile int value = 1;
static int grandchild(void)
{
    value += 100;
    printf("grandchild %d\n", value);
    return 0;
}
static int child(void)
{
    value += 10;
    reap(spawn(grandchild));
    printf("child %d\n", value);
    return 0;
}
int main(void)
{
    reap(spawn(child));
    printf("parent %d\n", value);
    return 0;
}
