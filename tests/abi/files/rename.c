/* rename moves a file over another, which is gone. */
#include "abi.h"

int main(void)
{
    put_file("a", "content of a");
    put_file("b", "content of b");
    int fd = (int)MUST(open("b", O_RDONLY));
    char text[32] = "";
    CALL(rename("a", "b"));
    tell_file("a");
    tell_file("b");
    CALL(read(fd, text, 31));
    TEXT(text);
    CALL(rename("b", "b"));
    CALL(rename("none", "c"));
    CALL(rename("b", "none/c"));
    tell_file("b");
    return 0;
}
