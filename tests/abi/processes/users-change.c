/* A program of root becomes another user, and cannot come back. */
#include "abi.h"

static int child(void)
{
    CALL(setgid(100));
    CALL(setuid(1000));
    printf("%d %d %d %d\n", getuid(), geteuid(), getgid(), getegid());
    CALL(setuid(0));
    CALL(setgid(0));
    CALL(kill(getppid(), SIGTERM));
    return 0;
}
static int keeps(void)
{
    uid_t r, e, s;
    CALL(setresuid(1000, 1000, 0));
    CALL(seteuid(0));
    getresuid(&r, &e, &s);
    printf("%d %d %d\n", r, e, s);
    return 0;
}
int main(void)
{
    reap(spawn(child));
    reap(spawn(keeps));
    printf("%d\n", getuid());
    return 0;
}
