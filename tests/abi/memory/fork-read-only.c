/* A read-only page that is shared after a fork can be made writable by the child alone. */
#include "abi.h"

static char *a;
static int child(void)
{
    MUST(mprotect(a, PAGE, PROT_READ | PROT_WRITE));
    a[0] = 'c';
    printf("child %c\n", a[0]);
    return 0;
}
int main(void)
{
    a = MAP(PAGE, MAP_PRIVATE);
    a[0] = 'p';
    MUST(mprotect(a, PAGE, PROT_READ));
    reap(spawn(child));
    printf("parent %c\n", a[0]);
    return 0;
}
