/* A descriptor of time: once, again and again, poll, what is left. */
#include "abi.h"

int main(void)
{
    struct itimerspec set = {{0, 0}, {0, 20000000}}, left;
    struct pollfd list;
    uint64_t count;
    int fd = (int)MUST(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK));
    CALL(read(fd, &count, 8));
    CALL(timerfd_settime(fd, 0, &set, NULL));
    list = (struct pollfd){fd, POLLIN, 0};
    CALL(poll(&list, 1, 30000));
    CALL(read(fd, &count, 8));
    SHOW(count);
    CALL(read(fd, &count, 8));
    set = (struct itimerspec){{0, 5000000}, {0, 5000000}};
    CALL(timerfd_settime(fd, 0, &set, NULL));
    sleep_ms(30);
    CALL(read(fd, &count, 8));
    SHOW(count >= 5);
    CALL(timerfd_gettime(fd, &left));
    SHOW(left.it_interval.tv_nsec);
    SHOW(left.it_value.tv_nsec > 0 && left.it_value.tv_nsec <= 5000000);
    set = (struct itimerspec){{0, 0}, {0, 0}};
    CALL(timerfd_settime(fd, 0, &set, NULL));
    CALL(poll(&list, 1, 20));
    set.it_value.tv_sec = 1;
    CALL(timerfd_settime(fd, TFD_TIMER_ABSTIME, &set, NULL));
    CALL(poll(&list, 1, 30000));
    set.it_value.tv_nsec = 1000000000;
    CALL(timerfd_settime(fd, 0, &set, NULL));
    CALL(timerfd_create(99, 0));
    CALL(timerfd_create(CLOCK_MONOTONIC, 99));
    return 0;
}
