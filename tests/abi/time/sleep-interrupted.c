/* An interrupted sleep tells what is left. */
#include "abi.h"

static volatile sig_atomic_t count;
static void handler(int n)
{
    count += n == SIGALRM;
}
int main(void)
{
    struct timespec time = {20, 0}, left = {0, 0};
    on_signal(SIGALRM, handler, 0);
    alarms(30);
    CALL(nanosleep(&time, &left));
    SHOW(left.tv_sec < 20 && left.tv_sec >= 10);
    CODE(clock_nanosleep(CLOCK_MONOTONIC, 0, &time, &left));
    SHOW(left.tv_sec < 20 && left.tv_sec >= 10);
    SHOW(sleep(20) >= 10);
    SHOW(count >= 3);
    return 0;
}
