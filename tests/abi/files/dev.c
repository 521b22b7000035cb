/* /dev/null, zero, full. */
#include "abi.h"

int main(void)
{
    char bytes[4] = "xxx";
    struct stat facts;
    int null = (int)MUST(open("/dev/null", O_RDWR)), zero = (int)MUST(open("/dev/zero", O_RDWR)),
        full = (int)MUST(open("/dev/full", O_RDWR));
    CALL(read(null, bytes, 4));
    CALL(write(null, bytes, 4));
    CALL(read(zero, bytes, 4));
    SHOW(bytes[0] + bytes[3]);
    CALL(write(zero, bytes, 4));
    CALL(read(full, bytes, 4));
    CALL(write(full, bytes, 4));
    CALL(lseek(null, 5, SEEK_SET));
    MUST(fstat(null, &facts));
    SHOW(S_ISCHR(facts.st_mode));
    printf("%o %lx\n", facts.st_mode & 0777, (long)facts.st_rdev);
    CALL(open("/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0600) < 0 ? -1 : 0);
    CALL(ioctl(null, TCGETS, bytes));
    SHOW(isatty(null));
    return 0;
}
