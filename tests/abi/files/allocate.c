/* fallocate makes room, keeps the size, punches holes. */
#include "abi.h"

int main(void)
{
    struct stat facts;
    char byte;
    int fd = (int)MUST(open("a", O_RDWR | O_CREAT, 0600));
    MUST(write(fd, "abcd", 4));
    CALL(fallocate(fd, 0, 0, 10000));
    MUST(fstat(fd, &facts));
    SHOW(facts.st_size);
    CALL(fallocate(fd, 1, 0, 50000));
    MUST(fstat(fd, &facts));
    SHOW(facts.st_size);
    CALL(fallocate(fd, 3, 0, 2));
    MUST(pread(fd, &byte, 1, 1));
    SHOW(byte);
    MUST(pread(fd, &byte, 1, 2));
    SHOW(byte);
    CALL(fallocate(fd, 0, -1, 10));
    CALL(posix_fallocate(fd, 0, 60000));
    CALL(posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED));
    CALL(posix_fadvise(fd, 0, 0, 99));
    return 0;
}
