/* A semaphore in shared memory passes between processes. */
#include "abi.h"

static sem_t *sems;
static int child(void)
{
    for (int i = 0; i < 20; i++) {
        sem_wait(&sems[0]);
        sem_post(&sems[1]);
    }
    return 6;
}
int main(void)
{
    pid_t pid;
    sems = (sem_t *)MAP(PAGE, MAP_SHARED);
    CALL(sem_init(&sems[0], 1, 0));
    CALL(sem_init(&sems[1], 1, 0));
    pid = spawn(child);
    for (int i = 0; i < 20; i++) {
        sem_post(&sems[0]);
        sem_wait(&sems[1]);
    }
    reap(pid);
    return 0;
}
