/* A shared mapping and read and write show the same bytes. */
#include "abi.h"

int main(void)
{
    char text[16] = "", *a, *b;
    int fd = (int)MUST(open("a", O_RDWR | O_CREAT, 0600));
    MUST(ftruncate(fd, 2 * PAGE));
    a = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    b = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
    MUST((long)a);
    MUST((long)b);
    strcpy(a + PAGE, "mapped");
    CALL(pread(fd, text, 6, PAGE));
    TEXT(text);
    CALL(pwrite(fd, "written", 7, 0));
    TEXT(a);
    TEXT(b);
    CALL(msync(a, 2 * PAGE, MS_SYNC));
    CALL(close(fd));
    a[0] = 'W';
    tell_file("a");
    return 0;
}
