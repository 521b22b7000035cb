/* An eventfd adds up, is read at once or one by one, and can be full. */
#include "abi.h"

int main(void)
{
    uint64_t value = 5;
    int fd = (int)MUST(eventfd(3, EFD_NONBLOCK));
    CALL(write(fd, &value, 8));
    CALL(read(fd, &value, 8));
    SHOW(value);
    CALL(read(fd, &value, 8));
    CALL(read(fd, &value, 4));
    value = UINT64_MAX - 1;
    CALL(write(fd, &value, 8));
    value = 1;
    CALL(write(fd, &value, 8));
    value = UINT64_MAX;
    CALL(write(fd, &value, 8));
    fd = (int)MUST(eventfd(2, EFD_SEMAPHORE | EFD_NONBLOCK));
    CALL(read(fd, &value, 8));
    SHOW(value);
    CALL(read(fd, &value, 8));
    CALL(read(fd, &value, 8));
    CALL(eventfd(0, 99));
    return 0;
}
