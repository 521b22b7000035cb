/* exit runs atexit's functions backwards and flushes; _exit does neither. */
#include "abi.h"

static void first(void)
{
    printf("first\n");
}
static void second(void)
{
    printf("second\n");
}
static int child(void)
{
    atexit(first);
    atexit(second);
    printf("exit without a line's end... ");
    exit(3);
}
int main(void)
{
    reap(spawn(child));
    atexit(first);
    printf("_exit\n");
    _exit(4);
}
