/* After a fork the same private word is two futexes. */
#include "abi.h"

static uint32_t word;
static int channel[2];
static int child(void)
{
    struct timespec time = {0, 100000000};
    MUST(write(channel[1], "", 1));
    return syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &time, NULL, 0) == -1 && errno == ETIMEDOUT ? 4 : 5;
}
int main(void)
{
    char byte;
    pid_t pid;
    MUST(pipe(channel));
    pid = spawn(child);
    MUST(read(channel[0], &byte, 1));
    sleep_ms(30);
    SHOW(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0));
    reap(pid);
    return 0;
}
