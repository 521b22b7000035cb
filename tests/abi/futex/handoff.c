/* Two threads on different CPUs hand a word over a thousand times. */
#include "abi.h"

static atomic_uint word;
static void *work(void *argument)
{
    uint32_t me = (uint32_t)(long)argument;
    go((int)me);
    for (int i = 0; i < 500; i++) {
        uint32_t seen;
        while ((seen = word) % 2 != me)
            syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
        word++;
        syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
    return NULL;
}
int main(void)
{
    pthread_t thread = start(work, (void *)1);
    work(NULL);
    pthread_join(thread, NULL);
    SHOW(word);
    return 0;
}
