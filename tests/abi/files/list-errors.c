/* getdents of what is no folder, and with too little room. */
#include "abi.h"

int main(void)
{
    char bytes[64];
    int fd;
    put_file("file", "");
    fd = (int)MUST(open("file", O_RDONLY));
    CALL(syscall(SYS_getdents64, fd, bytes, sizeof(bytes)));
    fd = (int)MUST(open(".", O_RDONLY));
    CALL(syscall(SYS_getdents64, fd, bytes, 5L));
    CALL(syscall(SYS_getdents64, 99, bytes, sizeof(bytes)));
    CALL(read(fd, bytes, 1));
    CALL(write(fd, bytes, 1));
    return 0;
}
