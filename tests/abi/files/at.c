/* The calls with a folder's descriptor work below it. */
#include "abi.h"

int main(void)
{
    struct stat facts;
    char text[32] = "";
    int fd, file;
    MUST(mkdir("d", 0755));
    fd = (int)MUST(open("d", O_RDONLY | O_DIRECTORY));
    file = (int)MUST(openat(fd, "file", O_RDWR | O_CREAT, 0600));
    MUST(write(file, "below", 5));
    CALL(mkdirat(fd, "e", 0700));
    CALL(fstatat(fd, "file", &facts, 0));
    SHOW(facts.st_size);
    CALL(faccessat(fd, "e", X_OK, 0));
    CALL(symlinkat("file", fd, "s"));
    CALL(readlinkat(fd, "s", text, 31));
    TEXT(text);
    CALL(linkat(fd, "file", fd, "l", 0));
    CALL(renameat(fd, "l", AT_FDCWD, "outside"));
    tell_file("outside");
    CALL(unlinkat(fd, "e", AT_REMOVEDIR));
    CALL(fstatat(file, "x", &facts, 0));
    CALL(fstatat(file, "", &facts, AT_EMPTY_PATH));
    CALL(fstatat(file, "", &facts, 0));
    return 0;
}
