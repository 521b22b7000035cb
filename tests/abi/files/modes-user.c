/* Another user than root is held to permissions. */
#include "abi.h"

static int child(void)
{
    MUST(setgid(100));
    MUST(setuid(1000));
    CALL(open("mine", O_RDONLY));
    CALL(open("all", O_RDONLY) < 0 ? -1 : 0);
    CALL(open("all", O_WRONLY));
    CALL(unlink("all"));
    CALL(access("all", R_OK));
    CALL(access("all", W_OK));
    CALL(chmod("all", 0777));
    CALL(open("new", O_CREAT | O_WRONLY, 0600));
    CALL(open("closed/x", O_RDONLY));
    return 0;
}
int main(void)
{
    put_file("mine", "");
    MUST(chmod("mine", 0600));
    put_file("all", "");
    MUST(mkdir("closed", 0700));
    reap(spawn(child));
    return 0;
}
