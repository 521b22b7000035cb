/* readv, writev, preadv and pwritev go over several buffers. */
#include "abi.h"

int main(void)
{
    char a[4] = "", b[8] = "";
    struct iovec out[3] = {{"abc", 3}, {"", 0}, {"defgh", 5}}, in[2] = {{a, 3}, {b, 7}};
    int fd = (int)MUST(open("a", O_RDWR | O_CREAT, 0600));
    CALL(writev(fd, out, 3));
    CALL(preadv(fd, in, 2, 0));
    TEXT(a);
    TEXT(b);
    CALL(pwritev(fd, out, 1, 4));
    CALL(lseek(fd, 2, SEEK_SET));
    CALL(readv(fd, in, 2));
    TEXT(a);
    CALL(readv(fd, in, -1));
    CALL(writev(fd, out, 2000));
    CALL(readv(fd, in, 0));
    return 0;
}
