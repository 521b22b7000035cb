/* chown changes owner and group. */
#include "abi.h"

int main(void)
{
    struct stat facts;
    put_file("a", "");
    CALL(chown("a", 5, 6));
    MUST(stat("a", &facts));
    printf("%d %d\n", facts.st_uid, facts.st_gid);
    CALL(chown("a", (uid_t)-1, 7));
    MUST(stat("a", &facts));
    printf("%d %d\n", facts.st_uid, facts.st_gid);
    MUST(chmod("a", 06755));
    CALL(chown("a", 8, 8));
    MUST(stat("a", &facts));
    printf("%o\n", facts.st_mode);
    MUST(symlink("a", "s"));
    CALL(lchown("s", 9, 9));
    MUST(stat("a", &facts));
    printf("%d\n", facts.st_uid);
    return 0;
}
