/* Offsets of read, write, lseek, pread and pwrite. */
#include "abi.h"

int main(void)
{
    char text[32] = "";
    int fd = (int)MUST(open("a", O_RDWR | O_CREAT, 0600));
    CALL(write(fd, "0123456789", 10));
    CALL(lseek(fd, 3, SEEK_SET));
    CALL(read(fd, text, 2));
    TEXT(text);
    CALL(pwrite(fd, "AB", 2, 8));
    CALL(lseek(fd, 0, SEEK_CUR));
    CALL(pread(fd, text, 20, 5));
    TEXT(text);
    CALL(lseek(fd, -2, SEEK_END));
    CALL(write(fd, "xyz", 3));
    CALL(lseek(fd, 0, SEEK_END));
    CALL(lseek(fd, -1, SEEK_SET));
    CALL(lseek(fd, 0, 9));
    CALL(read(fd, text, 5));
    CALL(pread(fd, text, 5, -1));
    close(fd);
    tell_file("a");
    return 0;
}
