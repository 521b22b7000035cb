/* pthread_atfork's handlers run in their order. */
#include "abi.h"

static void before1(void)
{
    printf("before 1\n");
}
static void before2(void)
{
    printf("before 2\n");
}
static void parent1(void)
{
    printf("parent 1\n");
}
static void parent2(void)
{
    printf("parent 2\n");
}
int main(void)
{
    pid_t pid;
    CODE(pthread_atfork(before1, parent1, NULL));
    CODE(pthread_atfork(before2, parent2, NULL));
    pid = fork();
    if (pid == 0)
        _exit(0);
    reap(pid);
    return 0;
}
