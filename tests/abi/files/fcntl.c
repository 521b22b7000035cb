/* Flags of descriptors and open files. */
#include "abi.h"

int main(void)
{
    int fd = (int)MUST(open("/dev/null", O_RDWR | O_CLOEXEC));
    CALL(fcntl(fd, F_GETFD));
    CALL(fcntl(fd, F_SETFD, 0));
    CALL(fcntl(fd, F_GETFD));
    printf("%o\n", fcntl(fd, F_GETFL) & 07777);
    CALL(fcntl(fd, F_SETFL, O_NONBLOCK | O_APPEND));
    printf("%o\n", fcntl(fd, F_GETFL) & 07777);
    CALL(fcntl(fd, F_SETFL, O_WRONLY));
    printf("%o\n", fcntl(fd, F_GETFL) & 07777);
    CALL(fcntl(fd, 9999));
    CALL(fcntl(99, F_GETFD));
    CALL(fcntl(fd, F_DUPFD, -1));
    return 0;
}
