/* A futex in a shared mapping of a file is one for all who map it. */
#include "abi.h"

static int child(void)
{
    int fd = (int)MUST(open("word", O_RDWR));
    uint32_t *word = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    while (atomic_load((atomic_uint *)word) == 0)
        syscall(SYS_futex, word, FUTEX_WAIT, 0, NULL, NULL, 0);
    return (int)*word;
}
int main(void)
{
    int fd = (int)MUST(open("word", O_RDWR | O_CREAT, 0600));
    uint32_t *word;
    pid_t pid;
    MUST(ftruncate(fd, PAGE));
    word = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MUST((long)word);
    pid = spawn(child);
    sleep_ms(20);
    atomic_store((atomic_uint *)word, 9);
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
    reap(pid);
    return 0;
}
