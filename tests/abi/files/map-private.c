/* A private mapping has the file's bytes, and keeps its own changes. */
#include "abi.h"

int main(void)
{
    char *a;
    int fd;
    put_file("a", "contents");
    fd = (int)MUST(open("a", O_RDONLY));
    a = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    MUST((long)a);
    TEXT(a);
    a[0] = 'C';
    tell_file("a");
    TEXT(a);
    SHOW(a[PAGE - 1]);
    CALL(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    CALL(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 100));
    return 0;
}
