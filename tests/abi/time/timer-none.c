/* A timer without notification only counts down. */
#include "abi.h"

int main(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_NONE};
    struct itimerspec set = {{0, 0}, {0, 10000000}}, left;
    timer_t timer;
    MUST(timer_create(CLOCK_MONOTONIC, &event, &timer));
    CALL(timer_settime(timer, 0, &set, NULL));
    sleep_ms(30);
    CALL(timer_gettime(timer, &left));
    SHOW(left.it_value.tv_nsec);
    return 0;
}
