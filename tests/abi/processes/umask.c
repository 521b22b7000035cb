/* The mask of file modes is told, set, inherited and only its permissions count. */
#include "abi.h"

static int child(void)
{
    printf("%o\n", umask(07777));
    printf("%o\n", umask(0));
    return 0;
}
int main(void)
{
    umask(027);
    reap(spawn(child));
    printf("%o\n", umask(0));
    return 0;
}
