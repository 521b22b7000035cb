/* System V shared memory: made, attached by a child, removed. */
#include "abi.h"

static int id;
static int child(void)
{
    char *a = shmat(id, NULL, 0);
    MUST((long)a);
    strcpy(a, "from child");
    return 0;
}
int main(void)
{
    struct shmid_ds facts;
    char *a;
    id = (int)MUST(shmget(IPC_PRIVATE, 5000, IPC_CREAT | 0600));
    a = shmat(id, NULL, 0);
    MUST((long)a);
    reap(spawn(child));
    TEXT(a);
    CALL(shmctl(id, IPC_STAT, &facts));
    SHOW(facts.shm_segsz);
    SHOW(facts.shm_nattch);
    CALL(shmdt(a));
    CALL(shmdt(a));
    CALL(shmctl(id, IPC_RMID, NULL));
    CALL(shmctl(id, IPC_RMID, NULL));
    return 0;
}
