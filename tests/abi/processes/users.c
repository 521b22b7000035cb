/* Ids of users and groups of a program of root. */
#include "abi.h"

int main(void)
{
    uid_t r, e, s;
    printf("%d %d %d %d\n", getuid(), geteuid(), getgid(), getegid());
    CALL(getresuid(&r, &e, &s));
    printf("%d %d %d\n", r, e, s);
    CALL(getresgid(&r, &e, &s));
    printf("%d %d %d\n", r, e, s);
    CALL(getgroups(0, NULL));
    return 0;
}
