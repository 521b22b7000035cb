/* poll, pause and nanosleep end with EINTR even with SA_RESTART. */
#include "abi.h"

static volatile sig_atomic_t count;
static void handler(int n)
{
    count += n == SIGALRM;
}
int main(void)
{
    struct timespec time = {30, 0}, left = {0, 0};
    on_signal(SIGALRM, handler, SA_RESTART);
    alarms(30);
    CALL(poll(NULL, 0, 30000));
    CALL(pause());
    CALL(nanosleep(&time, &left));
    SHOW(left.tv_sec >= 20 && left.tv_sec < 30);
    CALL(select(0, NULL, NULL, NULL, &(struct timeval){30, 0}));
    SHOW(count >= 4);
    return 0;
}
