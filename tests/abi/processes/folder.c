/* Working folders are each process's own, and inherited. */
#include "abi.h"

static char text[PATH_MAX];
static int child(void)
{
    TEXT(getcwd(text, sizeof(text)));
    CALL(chdir(".."));
    TEXT(getcwd(text, sizeof(text)));
    return 0;
}
int main(void)
{
    int fd;
    CALL(chdir("/proc/self"));
    CALL(chdir("/proc/sys/../../dev"));
    reap(spawn(child));
    TEXT(getcwd(text, sizeof(text)));
    CALL(chdir("/nowhere"));
    CALL(chdir("/dev/null"));
    CALL(syscall(SYS_getcwd, text, 2L));
    fd = (int)MUST(open("/proc", O_RDONLY | O_DIRECTORY));
    CALL(fchdir(fd));
    TEXT(getcwd(text, sizeof(text)));
    CALL(fchdir(0));
    return 0;
}
