/* Holes of a sparse file read as zeros; SEEK_DATA and SEEK_HOLE find them. */
#include "abi.h"

int main(void)
{
    char text[8] = "xxxxxxx";
    struct stat facts;
    int fd = (int)MUST(open("a", O_RDWR | O_CREAT, 0600));
    CALL(pwrite(fd, "end", 3, 1 << 20));
    CALL(pread(fd, text, 4, 5000));
    SHOW(text[0] + text[1] + text[2] + text[3]);
    MUST(fstat(fd, &facts));
    SHOW(facts.st_size);
    SHOW(facts.st_blocks < 100);
    CALL(lseek(fd, 0, SEEK_DATA));
    CALL(lseek(fd, 0, SEEK_HOLE));
    CALL(lseek(fd, 1 << 20, SEEK_HOLE));
    CALL(lseek(fd, 2 << 20, SEEK_DATA));
    return 0;
}
