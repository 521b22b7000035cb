/* A write to a pipe without readers is SIGPIPE, or EPIPE if that is ignored. */
#include "abi.h"

static void handler(int n)
{
    say(n == SIGPIPE ? "handler\n" : "?\n");
}
int main(void)
{
    int fds[2];
    MUST(pipe(fds));
    close(fds[0]);
    signal(SIGPIPE, SIG_IGN);
    CALL(write(fds[1], "x", 1));
    on_signal(SIGPIPE, handler, 0);
    CALL(write(fds[1], "x", 1));
    signal(SIGPIPE, SIG_DFL);
    CALL(write(fds[1], "x", 1));
    return 0;
}
