/* After chroot the root is another. */
#include "abi.h"

static int child(void)
{
    char text[64];
    CALL(chroot("d"));
    CALL(chdir("/"));
    tell_file("/file");
    tell_file("/../file");
    TEXT(getcwd(text, sizeof(text)));
    return 0;
}
int main(void)
{
    MUST(mkdir("d", 0755));
    put_file("d/file", "inside");
    put_file("file", "outside");
    CALL(chroot("none"));
    reap(spawn(child));
    return 0;
}
