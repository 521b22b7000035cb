/* alarm tells what was left of the last one. */
#include "abi.h"

static volatile sig_atomic_t count;
static void handler(int n)
{
    count += n == SIGALRM;
}
int main(void)
{
    on_signal(SIGALRM, handler, 0);
    SHOW(alarm(100));
    SHOW(alarm(1) >= 99);
    CALL(pause());
    SHOW(alarm(0));
    SHOW(ualarm(20000, 20000));
    CALL(pause());
    SHOW(count >= 2);
    return 0;
}
