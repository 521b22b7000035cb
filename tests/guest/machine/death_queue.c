/* A kernel dies on which tasks wait for messages of a queue. Part of test-death. */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/abi/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/machine/death.h"

#define NAME "/death-served"
#define RECEIVERS 2
#define ROOM 4 /* messages */

static void receive_there(mqd_t queue, int kernel)
{
    long number;

    death_go(kernel);
    atomic_fetch_add(&death_board->ready, 1);
    while (mq_receive(queue, (char *)&number, sizeof(number), NULL) == (ssize_t)sizeof(number))
        atomic_fetch_add(&death_board->done[0], 1);
}

/* Sends numbers, one whenever all before it have been passed on to a receiver. */
static void send_numbers(mqd_t queue)
{
    struct mq_attr facts;

    for (long number = 1; death_board->over == 0;) {
        if (mq_getattr(queue, &facts) == 0 && facts.mq_curmsgs == 0 &&
            mq_send(queue, (const char *)&number, sizeof(number), 0) == 0)
            atomic_store(&death_board->done[1], number++);
        sched_yield();
    }
    _exit(0);
}

/* When the kernel stops, its receivers wait, and the next messages are passed on to them. They come back before the
 * message that is sent after them, and in their order. */
void death_test_served(void)
{
    int dying = death_victim(0);
    struct mq_attr facts = {.mq_maxmsg = ROOM, .mq_msgsize = sizeof(long)};
    pid_t receivers[RECEIVERS], sender;
    long number, last = 0, count = 0;
    mqd_t queue;

    death_begin();
    queue = (mqd_t)MUST(mq_open(NAME, O_RDWR | O_CREAT | O_NONBLOCK, 0600, &facts));
    for (int i = 0; i < RECEIVERS; i++) {
        receivers[i] = FORK();
        if (receivers[i] == 0) {
            receive_there((mqd_t)MUST(mq_open(NAME, O_RDWR)), dying);
            _exit(6);
        }
    }
    UNTIL(death_board->ready == RECEIVERS && tap_sleeps(receivers[0], receivers[0]) &&
              tap_sleeps(receivers[1], receivers[1]),
          "the receivers to wait");
    sender = FORK();
    if (sender == 0)
        send_numbers(queue);
    UNTIL(death_board->done[0] > 20, "messages");
    death_kill(dying, KETTLE_KILL_SPIN);
    for (int i = 0; i < RECEIVERS; i++)
        CHECK_DIES(receivers[i], SIGKILL);
    UNTIL(mq_getattr(queue, &facts) == 0 && facts.mq_curmsgs > 0, "a message that nobody receives");
    death_board->over = 1;
    CHECK_EXITS(sender, 0);
    for (; mq_receive(queue, (char *)&number, sizeof(number), NULL) == (ssize_t)sizeof(number); last = number, count++)
        CHECK(number > last, "message %ld comes after %ld", number, last);
    CHECK_ERROR((int)mq_receive(queue, (char *)&number, sizeof(number), NULL), EAGAIN);
    CHECK(last == death_board->done[1], "the last message is %ld of %ld", last, (long)death_board->done[1]);
    tap_note("%ld messages of %ld were left", count, last);
    CHECK(mq_close(queue) == 0 && mq_unlink(NAME) == 0, "%s", tap_error(errno));
    death_audit();
    death_start_again(dying);
}
