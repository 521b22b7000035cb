/* The calls that write back. */
#include "abi.h"

int main(void)
{
    int fd = (int)MUST(open("a", O_RDWR | O_CREAT | O_SYNC, 0600)), fds[2];
    MUST(pipe(fds));
    MUST(write(fd, "x", 1));
    CALL(fsync(fd));
    CALL(fdatasync(fd));
    CALL(syncfs(fd));
    CALL(sync_file_range(fd, 0, 1, 0));
    CALL(fsync(fds[0]));
    CALL(fsync(99));
    sync();
    return 0;
}
