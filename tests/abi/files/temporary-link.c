/* A file without a name (O_TMPFILE) gets one by linkat, unless O_EXCL forbids it. */
#include "abi.h"

int main(void)
{
    char name[64];
    struct stat facts;
    int fd = (int)MUST(open(".", O_RDWR | O_TMPFILE, 0640));
    int folder;

    MUST(write(fd, "text", 4));
    MUST(fstat(fd, &facts));
    SHOW(facts.st_nlink);
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    CALL(linkat(AT_FDCWD, name, AT_FDCWD, "named", AT_SYMLINK_FOLLOW));
    tell_file("named");
    MUST(fstat(fd, &facts));
    SHOW(facts.st_nlink);
    CALL(linkat(fd, "", AT_FDCWD, "second", AT_EMPTY_PATH));
    tell_file("second");
    MUST(fstat(fd, &facts));
    SHOW(facts.st_nlink);
    CALL(linkat(fd, "", AT_FDCWD, "second", AT_EMPTY_PATH));
    CALL(unlink("named"));
    CALL(unlink("second"));
    MUST(fstat(fd, &facts));
    SHOW(facts.st_nlink);
    CALL(linkat(AT_FDCWD, name, AT_FDCWD, "third", AT_SYMLINK_FOLLOW));
    close(fd);

    fd = (int)MUST(open(".", O_WRONLY | O_TMPFILE | O_EXCL, 0640));
    CALL(linkat(fd, "", AT_FDCWD, "forbidden", AT_EMPTY_PATH));
    close(fd);
    MUST(mkdir("folder", 0755));
    fd = (int)MUST(open("folder", O_RDWR | O_TMPFILE, 0600));
    CALL(linkat(fd, "", AT_FDCWD, "other", AT_EMPTY_PATH));
    tell_file("other");
    close(fd);
    fd = (int)MUST(open("other", O_RDONLY));
    CALL(unlink("other"));
    CALL(linkat(fd, "", AT_FDCWD, "again", AT_EMPTY_PATH));
    folder = (int)MUST(open("folder", O_RDONLY));
    CALL(linkat(folder, "", AT_FDCWD, "again", AT_EMPTY_PATH));
    CALL(linkat(AT_FDCWD, "", AT_FDCWD, "again", AT_EMPTY_PATH));
    CALL(linkat(AT_FDCWD, "", AT_FDCWD, "again", 0));
    fd = (int)MUST(memfd_create("memory", 0));
    CALL(linkat(fd, "", AT_FDCWD, "memory", AT_EMPTY_PATH));
    return 0;
}
