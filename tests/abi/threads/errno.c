/* errno is each thread's own. */
#include "abi.h"

static void *work(void *argument)
{
    SHOW(errno);
    errno = 0;
    close(-1);
    printf("%s\n", errno_name(errno));
    return argument;
}
int main(void)
{
    errno = 0;
    MUST(getpid());
    errno = ENOSPC;
    pthread_join(start(work, NULL), NULL);
    printf("%s\n", errno_name(errno));
    return 0;
}
