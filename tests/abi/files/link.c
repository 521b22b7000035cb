/* Hard links are one file with several names. */
#include "abi.h"

int main(void)
{
    struct stat a, b;
    put_file("a", "text");
    CALL(link("a", "b"));
    MUST(stat("a", &a));
    MUST(stat("b", &b));
    SHOW(a.st_ino == b.st_ino);
    SHOW(a.st_nlink);
    put_file("b", "changed");
    tell_file("a");
    CALL(unlink("a"));
    tell_file("b");
    MUST(stat("b", &b));
    SHOW(b.st_nlink);
    CALL(link("none", "c"));
    CALL(link("b", "b"));
    CALL(link(".", "c"));
    CALL(rename("b", "d"));
    CALL(link("d", "e"));
    CALL(rename("d", "e"));
    tell_file("d");
    return 0;
}
