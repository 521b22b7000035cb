/* A page that one thread unmaps is gone for another. */
#include "abi.h"

static char *a;
static sigjmp_buf back;
static void handler(int n)
{
    siglongjmp(back, n);
}
static void *unmap(void *argument)
{
    SHOW(a[0]);
    MUST(munmap(a, PAGE));
    return argument;
}
int main(void)
{
    on_signal(SIGSEGV, handler, 0);
    a = MAP(PAGE, MAP_PRIVATE);
    a[0] = 5;
    pthread_join(start(unmap, NULL), NULL);
    if (sigsetjmp(back, 1) == 0)
        SHOW(*(volatile char *)a);
    else
        printf("gone\n");
    return 0;
}
