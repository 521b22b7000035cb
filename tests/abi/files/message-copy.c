/* MSG_COPY of msgrcv: the message at a place is copied and stays in the queue. */
#include "abi.h"

#define COPY 040000
static struct {
    long type;
    char text[8];
} message;

int main(void)
{
    int queue = (int)MUST(msgget(IPC_PRIVATE, 0600));
    struct msqid_ds facts;

    for (int i = 0; i < 3; i++) {
        message.type = 3 - i;
        message.text[0] = (char)('a' + i);
        message.text[1] = '\0';
        MUST(msgsnd(queue, &message, 2, 0));
    }
    CALL(msgrcv(queue, &message, 8, 1, COPY | IPC_NOWAIT));
    TEXT(message.text);
    SHOW(message.type);
    CALL(msgrcv(queue, &message, 8, 1, COPY | IPC_NOWAIT));
    TEXT(message.text);
    CALL(msgrcv(queue, &message, 8, 2, COPY | IPC_NOWAIT));
    TEXT(message.text);
    CALL(msgrcv(queue, &message, 8, 3, COPY | IPC_NOWAIT));
    CALL(msgrcv(queue, &message, 8, -1, COPY | IPC_NOWAIT));
    CALL(msgrcv(queue, &message, 8, 0, COPY));
    CALL(msgrcv(queue, &message, 8, 0, COPY | IPC_NOWAIT | MSG_EXCEPT));
    CALL(msgrcv(queue, &message, 1, 0, COPY | IPC_NOWAIT));
    CALL(msgrcv(queue, &message, 1, 0, COPY | IPC_NOWAIT | MSG_NOERROR));
    CALL(msgrcv(queue, &message, 8, 0, COPY | IPC_NOWAIT));
    MUST(msgctl(queue, IPC_STAT, &facts));
    SHOW(facts.msg_qnum);
    SHOW(facts.msg_rtime == 0);
    CALL(msgrcv(queue, &message, 8, 0, IPC_NOWAIT));
    TEXT(message.text);
    CALL(msgctl(queue, IPC_RMID, NULL));
    return 0;
}
