/* /dev/fd, /dev/stdin and /proc/self/fd open what a descriptor has. */
#include "abi.h"

int main(void)
{
    char text[16] = "", name[32];
    int fds[2], fd;
    MUST(pipe(fds));
    MUST(write(fds[1], "abcdef", 6));
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fds[0]);
    fd = (int)MUST(open(name, O_RDONLY));
    CALL(read(fd, text, 3));
    TEXT(text);
    snprintf(name, sizeof(name), "/dev/fd/%d", fds[0]);
    fd = (int)CALL(open(name, O_RDONLY) < 0 ? -1 : 0);
    CALL(open("/proc/self/fd/99", O_RDONLY));
    return fd < 0 ? 0 : 0;
}
