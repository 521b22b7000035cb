/* A thread is born with its creator's affinity, and a child with its parent's. */
#include "abi.h"

static void tell(void)
{
    cpu_set_t set;
    sched_getaffinity(0, sizeof(set), &set);
    printf("%d CPU, on it %d\n", CPU_COUNT(&set), CPU_ISSET((unsigned)sched_getcpu(), &set) != 0);
}
static void *work(void *argument)
{
    tell();
    return argument;
}
static int child(void)
{
    tell();
    return 0;
}
int main(void)
{
    go(1);
    pthread_join(start(work, NULL), NULL);
    reap(spawn(child));
    return 0;
}
