/* Permissions that one thread changes hold for another, on another CPU. */
#include "abi.h"

static volatile char *a;
static pthread_barrier_t barrier;
static sigjmp_buf back;
static void handler(int n)
{
    siglongjmp(back, n);
}
static void *use(void *argument)
{
    go(1);
    a[0] = 1;
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    if (sigsetjmp(back, 1) == 0)
        a[0] = 2;
    else
        printf("refused\n");
    SHOW(a[0]);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    a[0] = 3;
    SHOW(a[0]);
    return argument;
}
int main(void)
{
    pthread_t thread;
    on_signal(SIGSEGV, handler, 0);
    pthread_barrier_init(&barrier, NULL, 2);
    a = MAP(PAGE, MAP_PRIVATE);
    thread = start(use, NULL);
    pthread_barrier_wait(&barrier);
    MUST(mprotect((void *)a, PAGE, PROT_READ));
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    MUST(mprotect((void *)a, PAGE, PROT_READ | PROT_WRITE));
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    return 0;
}
