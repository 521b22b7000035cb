/* A thread that moves from CPU to CPU has its descriptors everywhere. */
#include "abi.h"

int main(void)
{
    char text[64] = "";
    int fds[2], fd = (int)MUST(open("a", O_RDWR | O_CREAT, 0600));
    MUST(pipe(fds));
    for (int i = 0; i < 8; i++) {
        char byte = (char)('a' + i);
        go(i);
        MUST(write(fd, &byte, 1));
        MUST(write(fds[1], &byte, 1));
        MUST(read(fds[0], text + i, 1));
    }
    TEXT(text);
    tell_file("a");
    return 0;
}
