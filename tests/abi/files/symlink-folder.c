/* Links to folders in the middle of a path, relative and absolute, and "..". */
#include "abi.h"

int main(void)
{
    char here[PATH_MAX], text[PATH_MAX + 8];
    MUST((long)getcwd(here, sizeof(here)));
    MUST(mkdir("d", 0755));
    MUST(mkdir("d/e", 0755));
    put_file("d/e/file", "deep");
    put_file("d/other", "beside");
    MUST(symlink("d/e", "s"));
    tell_file("s/file");
    tell_file("s/../other");
    snprintf(text, sizeof(text), "%s/d", here);
    MUST(symlink(text, "absolute"));
    tell_file("absolute/e/file");
    CALL(chdir("s"));
    tell_file("../other");
    MUST((long)getcwd(text, sizeof(text)));
    TEXT(text + strlen(here));
    CALL(rmdir("../../s"));
    CALL(unlink("../../s/"));
    CALL(unlink("../../s"));
    return 0;
}
