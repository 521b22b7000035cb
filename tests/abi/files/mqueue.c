/* POSIX message queues order by priority. */
#include "abi.h"

#include <mqueue.h>

int main(void)
{
    struct mq_attr facts = {.mq_maxmsg = 4, .mq_msgsize = 16};
    char text[16] = "";
    unsigned priority;
    mqd_t queue = (mqd_t)MUST(mq_open("/abi-queue", O_RDWR | O_CREAT | O_NONBLOCK, 0600, &facts));
    CALL(mq_send(queue, "low", 4, 1));
    CALL(mq_send(queue, "high", 5, 9));
    CALL(mq_receive(queue, text, 16, &priority));
    TEXT(text);
    CALL(mq_receive(queue, text, 16, &priority));
    SHOW(priority);
    CALL(mq_receive(queue, text, 16, &priority));
    CALL(mq_unlink("/abi-queue"));
    return 0;
}
