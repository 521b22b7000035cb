/* O_PATH: a place without a file. */
#include "abi.h"

int main(void)
{
    struct stat facts;
    char byte, text[64] = "";
    int fd;
    put_file("a", "text");
    fd = (int)MUST(open("a", O_PATH));
    CALL(read(fd, &byte, 1));
    CALL(fchmod(fd, 0600));
    CALL(fstat(fd, &facts));
    SHOW(facts.st_size);
    snprintf(text, sizeof(text), "/proc/self/fd/%d", fd);
    tell_file(text + 0 * CALL(fcntl(fd, F_GETFL) & O_PATH ? 1 : 0));
    MUST(symlink("a", "s"));
    fd = (int)MUST(open("s", O_PATH | O_NOFOLLOW));
    CALL(readlinkat(fd, "", text, sizeof(text)));
    return 0;
}
