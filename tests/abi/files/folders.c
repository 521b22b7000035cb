/* Folders are made and removed; "." and ".." are what they should be. */
#include "abi.h"

int main(void)
{
    struct stat facts, other;
    CALL(mkdir("a", 0755));
    CALL(mkdir("a", 0755));
    CALL(mkdir("a/b", 0755));
    CALL(mkdir("none/b", 0755));
    MUST(stat("a", &facts));
    SHOW(facts.st_nlink);
    MUST(stat("a/b/..", &other));
    SHOW(facts.st_ino == other.st_ino);
    CALL(rmdir("a"));
    CALL(rmdir("a/b/."));
    CALL(rmdir("a/b"));
    put_file("a/f", "");
    CALL(rmdir("a/f"));
    CALL(rmdir("a"));
    CALL(unlink("a/f"));
    CALL(rmdir("a/"));
    CALL(rmdir("a"));
    CALL(mkdir("b/", 0755));
    return 0;
}
