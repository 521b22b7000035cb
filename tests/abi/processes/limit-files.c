/* With no descriptor left a call that needs one is EMFILE. */
#include "abi.h"

int main(void)
{
    struct rlimit limit = {10, 4096};
    int fds[2], count = 0;
    MUST(setrlimit(RLIMIT_NOFILE, &limit));
    while (dup(0) >= 0)
        count++;
    SHOW(count);
    CALL(dup(0));
    CALL(open("/dev/null", O_RDONLY));
    CALL(pipe(fds));
    CALL(dup2(0, 10));
    close(5);
    CALL(pipe(fds));
    CALL(dup(0));
    return 0;
}
