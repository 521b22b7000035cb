/* A timer that runs a function in a thread. */
#include "abi.h"

static sem_t done;
static void work(union sigval value)
{
    SHOW(value.sival_int);
    sem_post(&done);
}
int main(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_value.sival_int = 8};
    struct itimerspec set = {{0, 0}, {0, 20000000}};
    timer_t timer;
    event.sigev_notify_function = work;
    sem_init(&done, 0, 0);
    MUST(timer_create(CLOCK_MONOTONIC, &event, &timer));
    CALL(timer_settime(timer, 0, &set, NULL));
    sem_wait(&done);
    return 0;
}
