/* A private mapping of /dev/zero is memory of zeros. */
#include "abi.h"

int main(void)
{
    int fd = (int)MUST(open("/dev/zero", O_RDWR));
    char *a = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    MUST((long)a);
    SHOW(a[PAGE]);
    a[PAGE] = 9;
    SHOW(a[PAGE]);
    CALL(close(fd));
    SHOW(a[PAGE]);
    return 0;
}
