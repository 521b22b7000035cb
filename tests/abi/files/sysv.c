/* System V message queues and semaphores. */
#include "abi.h"

int main(void)
{
    struct {
        long type;
        char text[16];
    } message = {5, "text"};
    struct sembuf operation = {0, 2, IPC_NOWAIT};
    int queue = (int)MUST(msgget(IPC_PRIVATE, IPC_CREAT | 0600)),
        set = (int)MUST(semget(IPC_PRIVATE, 2, IPC_CREAT | 0600));
    CALL(msgsnd(queue, &message, 5, 0));
    CALL(msgrcv(queue, &message, 16, 4, IPC_NOWAIT));
    CALL(msgrcv(queue, &message, 16, 0, IPC_NOWAIT));
    TEXT(message.text);
    CALL(msgctl(queue, IPC_RMID, NULL));
    CALL(semop(set, &operation, 1));
    CALL(semctl(set, 0, GETVAL));
    operation.sem_op = -3;
    CALL(semop(set, &operation, 1));
    CALL(semctl(set, 0, IPC_RMID));
    return 0;
}
