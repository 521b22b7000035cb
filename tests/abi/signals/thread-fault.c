/* A fault is handled by the thread that made it. */
#include "abi.h"

static pthread_t target;
static sigjmp_buf back;
static void handler(int n, siginfo_t *info, void *u)
{
    printf("%s own %d\n", signal_name(n), pthread_equal(pthread_self(), target) != 0 && info != NULL && u != NULL);
    siglongjmp(back, 1);
}
static void *work(void *argument)
{
    volatile char *volatile a = NULL;
    target = pthread_self();
    go(1);
    if (sigsetjmp(back, 1) == 0)
        a[0] = 1;
    return argument;
}
int main(void)
{
    on_info(SIGSEGV, handler, 0);
    pthread_join(start(work, NULL), NULL);
    return 0;
}
