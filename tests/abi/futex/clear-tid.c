/* set_tid_address: the word is cleared and woken at a thread's end. */
#include "abi.h"

static atomic_uint word = 1;
static void *work(void *argument)
{
    SHOW(syscall(SYS_set_tid_address, &word) == syscall(SYS_gettid));
    syscall(SYS_exit, 0);
    return argument;
}
int main(void)
{
    start(work, NULL);
    while (word != 0)
        syscall(SYS_futex, &word, FUTEX_WAIT, 1, NULL, NULL, 0);
    SHOW(word);
    return 0;
}
