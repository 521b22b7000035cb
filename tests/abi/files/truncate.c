/* A truncated file loses its end, and gets zeros when it grows again. */
#include "abi.h"

int main(void)
{
    char text[16] = "";
    int fd;
    put_file("a", "abcdefgh");
    CALL(truncate("a", 3));
    tell_file("a");
    fd = (int)MUST(open("a", O_RDWR));
    CALL(ftruncate(fd, 8));
    CALL(read(fd, text, 16));
    printf("%s %d %d\n", text, text[3], text[7]);
    CALL(ftruncate(fd, -1));
    CALL(truncate("none", 0));
    CALL(truncate(".", 0));
    CALL(lseek(fd, 0, SEEK_CUR));
    return 0;
}
