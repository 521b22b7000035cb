/* chmod and fchmod, and that root may write what is not writable. */
#include "abi.h"

int main(void)
{
    struct stat facts;
    int fd;
    put_file("a", "text");
    CALL(chmod("a", 04751));
    MUST(stat("a", &facts));
    printf("%o\n", facts.st_mode);
    fd = (int)MUST(open("a", O_RDONLY));
    CALL(fchmod(fd, 0));
    MUST(stat("a", &facts));
    printf("%o\n", facts.st_mode);
    tell_file("a");
    CALL(access("a", W_OK));
    CALL(access("a", X_OK));
    CALL(chmod("none", 0));
    CALL(fchmod(99, 0));
    return 0;
}
