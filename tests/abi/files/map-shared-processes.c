/* Processes on different CPUs see each other's writes to a mapped file. */
#include "abi.h"

static atomic_int *word;
static int child(void)
{
    go(1);
    for (int i = 0; i < 20; i++) {
        while (*word != 2 * i + 1)
            sched_yield();
        (*word)++;
    }
    return 0;
}
int main(void)
{
    int fd = (int)MUST(open("a", O_RDWR | O_CREAT, 0600)), got = -1;
    pid_t pid;
    MUST(ftruncate(fd, PAGE));
    word = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MUST((long)word);
    pid = spawn(child);
    for (int i = 0; i < 20; i++) {
        (*word)++;
        while (*word != 2 * i + 2)
            sched_yield();
    }
    reap(pid);
    MUST(pread(fd, &got, sizeof(got), 0));
    SHOW(got);
    return 0;
}
