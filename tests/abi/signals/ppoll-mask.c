/* ppoll lets a signal in only while it waits. */
#include "abi.h"

static void handler(int n)
{
    say(n == SIGUSR1 ? "handler\n" : "?\n");
}
int main(void)
{
    sigset_t set = set_of(SIGUSR1), none = set_of(0);
    on_signal(SIGUSR1, handler, 0);
    sigprocmask(SIG_BLOCK, &set, NULL);
    raise(SIGUSR1);
    printf("blocked\n");
    CALL(ppoll(NULL, 0, NULL, &none));
    CALL(pselect(0, NULL, NULL, NULL, &(struct timespec){0, 1000}, &none));
    return 0;
}
