/* mq_close removes the notification that the process has registered, whichever descriptor it closes. */
#include "abi.h"

#include <mqueue.h>

static struct sigevent none = {.sigev_notify = SIGEV_NONE};

static int child(void)
{
    mqd_t queue = (mqd_t)MUST(mq_open("/abi-close", O_RDWR));

    CALL(mq_notify(queue, &none));
    CALL(mq_close(queue));
    return 0;
}
static int leaves(void)
{
    mqd_t queue = (mqd_t)MUST(mq_open("/abi-close", O_RDWR));

    CALL(mq_notify(queue, &none));
    return 0;
}
static int closes_inherited(void)
{
    for (int fd = 3; fd < 16; fd++)
        close(fd);
    return 0;
}
int main(void)
{
    struct mq_attr facts = {.mq_maxmsg = 4, .mq_msgsize = 16};
    mqd_t queue = (mqd_t)MUST(mq_open("/abi-close", O_RDWR | O_CREAT, 0600, &facts));
    mqd_t other = (mqd_t)MUST(mq_open("/abi-close", O_RDWR));

    CALL(mq_notify(queue, &none));
    CALL(mq_notify(other, &none));
    reap(spawn(child));
    CALL(mq_close(queue));
    CALL(mq_notify(other, &none));
    queue = (mqd_t)MUST(mq_open("/abi-close", O_RDWR));
    CALL(mq_close(queue)); /* another descriptor of the same queue */
    reap(spawn(child));
    reap(spawn(leaves)); /* the end of a process closes, too */
    CALL(mq_notify(other, &none));
    reap(spawn(closes_inherited)); /* of another process: nothing happens */
    CALL(mq_notify(other, &none));
    CALL(mq_notify(other, NULL));
    CALL(mq_notify(other, &none));
    CALL(mq_unlink("/abi-close"));
    return 0;
}
