/* A memory file can be resized, mapped shared twice and read. */
#include "abi.h"

int main(void)
{
    int fd = (int)MUST(syscall(SYS_memfd_create, "name", 0u));
    char *a, *b, bytes[4];
    CALL(ftruncate(fd, 2 * PAGE));
    a = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    b = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, PAGE);
    MUST((long)a);
    MUST((long)b);
    memcpy(a + PAGE, "abc", 4);
    TEXT(b);
    CALL(pread(fd, bytes, 4, PAGE));
    TEXT(bytes);
    CALL(lseek(fd, 0, SEEK_END));
    return 0;
}
