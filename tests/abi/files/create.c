/* O_CREAT makes a file, O_EXCL refuses one that is there, O_TRUNC empties it. */
#include "abi.h"

int main(void)
{
    struct stat facts;
    int fd;
    CALL(open("a", O_RDONLY));
    fd = (int)MUST(open("a", O_RDWR | O_CREAT | O_EXCL, 0640));
    CALL(write(fd, "hello", 5));
    CALL(fstat(fd, &facts));
    printf("%o %ld links %ld\n", facts.st_mode, (long)facts.st_size, (long)facts.st_nlink);
    CALL(open("a", O_RDWR | O_CREAT | O_EXCL, 0640));
    close(fd);
    tell_file("a");
    MUST(open("a", O_WRONLY | O_TRUNC));
    tell_file("a");
    return 0;
}
