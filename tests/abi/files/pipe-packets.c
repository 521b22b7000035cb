/* O_DIRECT: each write is a packet of its own. */
#include "abi.h"

int main(void)
{
    char text[16] = "";
    int fds[2];
    MUST(pipe2(fds, O_DIRECT));
    MUST(write(fds[1], "one", 3));
    MUST(write(fds[1], "second", 6));
    CALL(read(fds[0], text, 16));
    CALL(read(fds[0], text, 3));
    TEXT(text);
    return 0;
}
