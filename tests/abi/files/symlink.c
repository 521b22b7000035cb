/* Symbolic links are followed, told and removed; broken ones lead nowhere. */
#include "abi.h"

int main(void)
{
    char text[64] = "";
    struct stat facts;
    put_file("a", "text");
    CALL(symlink("a", "s"));
    tell_file("s");
    CALL(readlink("s", text, 63));
    TEXT(text);
    CALL(lstat("s", &facts));
    printf("%o %ld\n", facts.st_mode, (long)facts.st_size);
    CALL(stat("s", &facts));
    printf("%o %ld\n", facts.st_mode, (long)facts.st_size);
    CALL(readlink("a", text, 63));
    CALL(readlink("s", text, 0));
    CALL(open("s", O_RDONLY | O_NOFOLLOW));
    CALL(unlink("a"));
    tell_file("s");
    put_file("s", "made through the link");
    tell_file("a");
    CALL(symlink("x", "s"));
    CALL(symlink("", "t"));
    return 0;
}
