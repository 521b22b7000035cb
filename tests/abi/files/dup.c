/* Duplicates share offset and flags, and not FD_CLOEXEC. */
#include "abi.h"

int main(void)
{
    char text[8] = "";
    int a, b;
    put_file("a", "abcdef");
    a = (int)MUST(open("a", O_RDONLY | O_CLOEXEC));
    b = (int)MUST(dup(a));
    MUST(read(a, text, 2));
    CALL(lseek(b, 0, SEEK_CUR));
    printf("%d %d\n", fcntl(a, F_GETFD), fcntl(b, F_GETFD));
    CALL(fcntl(b, F_SETFL, O_NONBLOCK));
    SHOW((fcntl(a, F_GETFL) & O_NONBLOCK) != 0);
    CALL(dup2(a, a));
    CALL(dup3(a, a, 0));
    CALL(dup2(99, 5));
    CALL(dup2(a, 50));
    CALL(fcntl(a, F_DUPFD, 60));
    CALL(fcntl(a, F_DUPFD_CLOEXEC, 70));
    SHOW(fcntl(70, F_GETFD));
    CALL(dup3(a, 80, 99));
    CALL(dup2(a, -1));
    return 0;
}
