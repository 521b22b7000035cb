/* Resource limits are told, set and inherited. */
#include "abi.h"

static int child(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    SHOW(limit.rlim_cur);
    return 0;
}
int main(void)
{
    struct rlimit limit;
    CALL(getrlimit(RLIMIT_STACK, &limit));
    SHOW(limit.rlim_cur);
    CALL(getrlimit(RLIMIT_NOFILE, &limit));
    limit.rlim_cur = 20;
    CALL(setrlimit(RLIMIT_NOFILE, &limit));
    reap(spawn(child));
    CALL(fcntl(0, F_DUPFD, 20));
    CALL(fcntl(0, F_DUPFD, 19));
    CALL(dup(0));
    limit.rlim_cur = limit.rlim_max + 1;
    CALL(setrlimit(RLIMIT_NOFILE, &limit));
    CALL(getrlimit(99, &limit));
    return 0;
}
