/* flock excludes other open files, not duplicates, and ends with the last close. */
#include "abi.h"

static int child(void)
{
    int fd = (int)MUST(open("a", O_RDWR));
    CALL(flock(fd, LOCK_EX | LOCK_NB));
    CALL(flock(fd, LOCK_SH | LOCK_NB));
    return 0;
}
int main(void)
{
    int a, b;
    put_file("a", "");
    a = (int)MUST(open("a", O_RDWR));
    b = (int)MUST(dup(a));
    CALL(flock(a, LOCK_EX));
    CALL(flock(b, LOCK_EX | LOCK_NB));
    reap(spawn(child));
    CALL(flock(a, LOCK_SH));
    reap(spawn(child));
    close(a);
    reap(spawn(child));
    close(b);
    reap(spawn(child));
    CALL(flock(99, LOCK_EX));
    CALL(flock(0, 0));
    return 0;
}
