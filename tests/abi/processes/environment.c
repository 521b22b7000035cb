/* setenv, putenv and unsetenv change what a child sees. */
#include "abi.h"

static int child(void)
{
    printf("%s %s %s\n", getenv("A"), getenv("B"), getenv("C") == NULL ? "none" : "?");
    return 0;
}
int main(void)
{
    setenv("A", "1", 1);
    setenv("A", "2", 0);
    putenv("B=3");
    setenv("C", "4", 1);
    unsetenv("C");
    reap(spawn(child));
    return 0;
}
