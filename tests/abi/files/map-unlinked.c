/* A mapping lives on when its file has no name and no descriptor. */
#include "abi.h"

int main(void)
{
    char *a;
    int fd;
    put_file("a", "still here");
    fd = (int)MUST(open("a", O_RDWR));
    a = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MUST((long)a);
    MUST(unlink("a"));
    MUST(close(fd));
    TEXT(a);
    a[0] = 'S';
    TEXT(a);
    CALL(munmap(a, PAGE));
    return 0;
}
