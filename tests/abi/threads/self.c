/* pthread_self tells threads apart; getpid is the same in all, gettid is not. */
#include "abi.h"

static pid_t tid;
static pthread_t me;
static void *work(void *argument)
{
    SHOW(getpid() == *(pid_t *)argument);
    tid = (pid_t)syscall(SYS_gettid);
    me = pthread_self();
    return NULL;
}
int main(void)
{
    pid_t pid = getpid();
    pthread_t thread = start(work, &pid);
    pthread_join(thread, NULL);
    SHOW(pthread_equal(thread, me) != 0);
    SHOW(pthread_equal(thread, pthread_self()) != 0);
    SHOW(syscall(SYS_gettid) == pid);
    SHOW(tid != pid);
    return 0;
}
