/* A file may be mapped and unmapped as often as one likes. */
#include "abi.h"

int main(void)
{
    int fd;
    long count = 0;

    put_file("file", "text");
    fd = (int)MUST(open("file", O_RDWR));
    while (count < 10000) {
        char *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        if (at == MAP_FAILED || munmap(at, PAGE) != 0)
            break;
        count++;
    }
    SHOW(count);
    tell_file("file");
    return 0;
}
