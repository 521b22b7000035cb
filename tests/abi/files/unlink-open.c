/* An unlinked file that is open is read and written until it is closed. */
#include "abi.h"

int main(void)
{
    struct stat facts;
    char text[16] = "";
    int fd;
    put_file("a", "before");
    fd = (int)MUST(open("a", O_RDWR));
    CALL(unlink("a"));
    CALL(access("a", F_OK));
    MUST(fstat(fd, &facts));
    SHOW(facts.st_nlink);
    CALL(pwrite(fd, "after", 5, 6));
    CALL(read(fd, text, 15));
    TEXT(text);
    put_file("a", "another");
    CALL(pread(fd, text, 6, 0));
    TEXT(text);
    return 0;
}
