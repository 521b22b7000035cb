/* The root folder: its parent is itself, and it has what systems have. */
#include "abi.h"

int main(void)
{
    struct stat a, b;
    static const char *const names[] = {"/proc", "/sys", "/dev", "/tmp", "/dev/shm", "/dev/pts", "/bin"};
    MUST(stat("/", &a));
    MUST(stat("/..", &b));
    SHOW(a.st_ino == b.st_ino && a.st_dev == b.st_dev);
    for (int i = 0; i < 7; i++)
        printf("%s %d\n", names[i], stat(names[i], &a) == 0 && S_ISDIR(a.st_mode));
    SHOW(stat("/tmp", &a) == 0 ? (int)(a.st_mode & 07777) : -1);
    return 0;
}
