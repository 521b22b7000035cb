/* A futex in shared memory wakes another process. */
#include "abi.h"

static uint32_t *words;
static int child(void)
{
    go(1);
    for (int i = 0; i < 20; i++) {
        while (atomic_load((atomic_uint *)&words[0]) == (uint32_t)i)
            syscall(SYS_futex, &words[0], FUTEX_WAIT, i, NULL, NULL, 0);
        atomic_fetch_add((atomic_uint *)&words[1], 1);
        syscall(SYS_futex, &words[1], FUTEX_WAKE, 1, NULL, NULL, 0);
    }
    return 0;
}
int main(void)
{
    pid_t pid;
    words = (uint32_t *)MAP(PAGE, MAP_SHARED);
    pid = spawn(child);
    for (int i = 0; i < 20; i++) {
        atomic_fetch_add((atomic_uint *)&words[0], 1);
        syscall(SYS_futex, &words[0], FUTEX_WAKE, 1, NULL, NULL, 0);
        while (atomic_load((atomic_uint *)&words[1]) == (uint32_t)i)
            syscall(SYS_futex, &words[1], FUTEX_WAIT, i, NULL, NULL, 0);
    }
    reap(pid);
    printf("%u %u\n", words[0], words[1]);
    return 0;
}
