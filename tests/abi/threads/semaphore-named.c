/* A semaphore with a name is found by a child. */
#include "abi.h"

static int child(void)
{
    sem_t *sem = sem_open("/abi-sem", 0);
    if (sem == SEM_FAILED)
        return errno;
    sem_post(sem);
    return 0;
}
int main(void)
{
    sem_t *sem = sem_open("/abi-sem", O_CREAT | O_EXCL, 0600, 0);
    MUST(sem == SEM_FAILED ? -1 : 0);
    reap(spawn(child));
    CALL(sem_wait(sem));
    CALL(sem_trywait(sem));
    CALL(sem_close(sem));
    CALL(sem_unlink("/abi-sem"));
    CALL(sem_unlink("/abi-sem"));
    return 0;
}
