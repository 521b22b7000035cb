/* mknod makes files, pipes and devices. */
#include "abi.h"

int main(void)
{
    struct stat facts;
    CALL(mknod("file", S_IFREG | 0600, 0));
    CALL(mknod("pipe", S_IFIFO | 0600, 0));
    CALL(mknod("null", S_IFCHR | 0666, 0x103));
    CALL(mknod("file", S_IFREG | 0600, 0));
    CALL(mknod("dir", S_IFDIR | 0600, 0));
    MUST(stat("null", &facts));
    printf("%o %lx\n", facts.st_mode, (long)facts.st_rdev);
    CALL(write((int)MUST(open("null", O_WRONLY)), "x", 1));
    return 0;
}
