/* unlink takes a name away; errors of what is no file. */
#include "abi.h"

int main(void)
{
    put_file("a", "text");
    MUST(mkdir("folder", 0755));
    CALL(unlink("a"));
    CALL(unlink("a"));
    CALL(unlink("folder"));
    CALL(unlink("none/a"));
    CALL(unlink(""));
    CALL(unlinkat(AT_FDCWD, "folder", AT_REMOVEDIR));
    CALL(unlinkat(AT_FDCWD, "folder", 99));
    return 0;
}
