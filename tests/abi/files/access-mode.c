/* A descriptor for reading cannot write, one for writing cannot read. */
#include "abi.h"

int main(void)
{
    char byte;
    int fd;
    put_file("a", "text");
    fd = (int)MUST(open("a", O_RDONLY));
    CALL(write(fd, "x", 1));
    CALL(ftruncate(fd, 1));
    close(fd);
    fd = (int)MUST(open("a", O_WRONLY));
    CALL(read(fd, &byte, 1));
    CALL(fcntl(fd, F_GETFL) & O_ACCMODE);
    close(fd);
    CALL(read(fd, &byte, 1));
    CALL(write(-1, "x", 1));
    CALL(read(fd + 1000000, &byte, 1));
    return 0;
}
