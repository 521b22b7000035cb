/* realpath, dirs with many slashes, dots and long names. */
#include "abi.h"

int main(void)
{
    char here[PATH_MAX], text[PATH_MAX], name[256];
    MUST((long)getcwd(here, sizeof(here)));
    MUST(mkdir("a", 0755));
    MUST(mkdir("a/b", 0755));
    put_file("a/b/c", "found");
    tell_file("a//b/./../b///c");
    MUST(symlink("b/c", "a/s"));
    SHOW(realpath("./a/../a/s", text) != NULL);
    TEXT(text + strlen(here));
    memset(name, 'n', 255);
    name[255] = '\0';
    put_file(name, "long");
    SHOW(access(name, R_OK));
    tell_file("/../../proc/sys/kernel/ostype");
    return 0;
}
