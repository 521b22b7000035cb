/* Extended attributes of a file. */
#include "abi.h"

int main(void)
{
    char text[16] = "";
    put_file("a", "");
    CALL(setxattr("a", "user.x", "value", 5, 0));
    CALL(getxattr("a", "user.x", text, 15));
    CALL(listxattr("a", text, 15));
    CALL(removexattr("a", "user.y"));
    CALL(setxattr("a", "trusted.x", "value", 5, 0));
    CALL(getxattr("a", "trusted.x", text, 15));
    TEXT(text);
    return 0;
}
