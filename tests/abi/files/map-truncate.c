/* Pages of a mapped file that was cut off are SIGBUS. */
#include "abi.h"

static sigjmp_buf back;
static void handler(int n)
{
    printf("%s\n", signal_name(n));
    siglongjmp(back, 1);
}
int main(void)
{
    volatile char *a;
    int fd = (int)MUST(open("a", O_RDWR | O_CREAT, 0600));
    on_signal(SIGBUS, handler, 0);
    MUST(ftruncate(fd, 3 * PAGE));
    a = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MUST((long)a);
    a[2 * PAGE] = 1;
    MUST(ftruncate(fd, PAGE));
    a[0] = 2;
    if (sigsetjmp(back, 1) == 0)
        a[2 * PAGE] = 3;
    MUST(ftruncate(fd, 3 * PAGE));
    SHOW(a[2 * PAGE]);
    return 0;
}
