/* futex_waitv waits for several words. */
#include "abi.h"

struct one {
    uint64_t value, address;
    uint32_t flags, reserved;
};
static uint32_t a, b;
static void *work(void *argument)
{
    sleep_ms(30);
    atomic_store((atomic_uint *)&b, 1);
    for (int i = 0; i < 200 && syscall(SYS_futex, &b, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) == 0; i++)
        sleep_ms(5);
    return argument;
}
int main(void)
{
    struct one words[2] = {{0, (uintptr_t)&a, 2 | 128, 0}, {1, (uintptr_t)&b, 2 | 128, 0}};
    pthread_t thread;
    CALL(syscall(449, words, 2L, 0L, NULL, 0L));
    CALL(syscall(449, words, 0L, 0L, NULL, 0L));
    words[1].value = 0;
    thread = start(work, NULL);
    CALL(syscall(449, words, 2L, 0L, NULL, 0L));
    pthread_join(thread, NULL);
    return 0;
}
