/* Locks of open files (F_OFD_SETLK) exclude other open files of the same process. */
#include "abi.h"

int main(void)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 10};
    int a = (int)MUST(open("a", O_RDWR | O_CREAT, 0600)), b = (int)MUST(open("a", O_RDWR));
    CALL(fcntl(a, F_OFD_SETLK, &lock));
    CALL(fcntl(a, F_OFD_SETLK, &lock));
    CALL(fcntl(b, F_OFD_SETLK, &lock));
    close(a);
    CALL(fcntl(b, F_OFD_SETLK, &lock));
    return 0;
}
