/* A file cannot grow above RLIMIT_FSIZE. */
#include "abi.h"

int main(void)
{
    struct rlimit limit = {1000, 1000};
    char bytes[600] = "";
    int fd = (int)MUST(open("a", O_RDWR | O_CREAT, 0600));
    signal(SIGXFSZ, SIG_IGN);
    CALL(setrlimit(RLIMIT_FSIZE, &limit));
    CALL(write(fd, bytes, 600));
    CALL(write(fd, bytes, 600));
    CALL(write(fd, bytes, 600));
    CALL(ftruncate(fd, 2000));
    return 0;
}
