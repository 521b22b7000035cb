/* getrandom and /dev/urandom give bytes, and not twice the same. */
#include "abi.h"

int main(void)
{
    unsigned char a[64], b[64];
    int fd;
    SHOW(syscall(SYS_getrandom, a, sizeof(a), 0));
    SHOW(syscall(SYS_getrandom, b, sizeof(b), 1));
    SHOW(memcmp(a, b, sizeof(a)) != 0);
    CALL(syscall(SYS_getrandom, a, 1L, 99));
    fd = (int)MUST(open("/dev/urandom", O_RDONLY));
    SHOW(read(fd, b, sizeof(b)));
    return 0;
}
