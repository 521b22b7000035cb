/* SSE registers of threads that share a CPU stay their own. */
#include "abi.h"

#include <immintrin.h>

static atomic_int wrong;
static void *work(void *argument)
{
    double me = (double)(long)argument, sum = 0;
    go(0);
    for (int i = 0; i < 300; i++) {
        double got;
        long number = SYS_sched_yield;
        __asm__ volatile("movq %2, %%xmm15; syscall; movq %%xmm15, %0"
                         : "=r"(got), "+a"(number)
                         : "r"(me)
                         : "rcx", "r11", "xmm15", "memory");
        if (got != me)
            wrong++;
        sum += got;
    }
    return NULL;
}
int main(void)
{
    pthread_t threads[4];
    for (long i = 0; i < 4; i++)
        threads[i] = start(work, (void *)(i + 1));
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    SHOW(wrong);
    return 0;
}
