/* A thread runs on the CPU that it is bound to, and its creator is not. */
#include "abi.h"

static void *work(void *argument)
{
    cpu_set_t set;
    unsigned cpu;
    int number = -1;
    go((int)(long)argument);
    CODE(pthread_getaffinity_np(pthread_self(), sizeof(set), &set));
    SHOW(CPU_COUNT(&set));
    do
        number++;
    while (!CPU_ISSET((unsigned)number, &set));
    MUST(syscall(SYS_getcpu, &cpu, NULL, NULL));
    SHOW((int)cpu == number);
    SHOW(sched_getcpu() == number);
    return NULL;
}
int main(void)
{
    cpu_set_t before, after;
    sched_getaffinity(0, sizeof(before), &before);
    for (long i = 0; i < 3; i++)
        pthread_join(start(work, (void *)i), NULL);
    sched_getaffinity(0, sizeof(after), &after);
    SHOW(CPU_EQUAL(&before, &after));
    return 0;
}
