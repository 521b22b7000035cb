/* A pipe passes bytes on in order, and ends when its last writer closes. */
#include "abi.h"

int main(void)
{
    char text[32] = "";
    int fds[2];
    MUST(pipe(fds));
    CALL(write(fds[1], "abc", 3));
    CALL(write(fds[1], "def", 3));
    CALL(read(fds[0], text, 4));
    TEXT(text);
    memset(text, 0, sizeof(text));
    CALL(read(fds[0], text, 10));
    TEXT(text);
    CALL(read(fds[1], text, 1));
    CALL(write(fds[0], text, 1));
    CALL(lseek(fds[0], 0, SEEK_SET));
    CALL(pread(fds[0], text, 1, 0));
    close(fds[1]);
    CALL(read(fds[0], text, 1));
    return 0;
}
