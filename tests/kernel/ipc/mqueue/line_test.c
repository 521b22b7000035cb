/* The lines of the tasks that wait for a message queue.
 * sources: kernel/ipc/mqueue/line.c */
#include "kernel/ipc/mqueue/internal.h"

#include "kernel/abi/errno.h"
#include "kernel/file/file.h"
#include "tests/stand_in/heap.h"
#include "tests/test.h"

#define OWNER 77u /* the process that is registered */

static struct mqueue queue;
static struct file file, other;
static struct mqueue_outcome outcome;

static void begin(int64_t count_max)
{
    queue = (struct mqueue){.count_max = count_max, .size_max = 1};
    list_init(&queue.messages);
    list_init(&queue.senders);
    list_init(&queue.receivers);
    list_init(&queue.served);
    file = other = (struct file){.state = &queue, .opens = 1};
    mqueue_outcome_init(&outcome);
}

static int64_t receive(struct file *from, uint32_t task, uint32_t kernel)
{
    const struct mqueue_call call = {.task = task, .kernel = kernel, .token = task + 100u};

    return mqueue_wait_locked(from, &call, NULL);
}

static struct message *make(uint8_t name, uint32_t priority)
{
    struct message *message = heap_alloc(sizeof(*message) + 1);

    message->priority = priority;
    message->process = name;
    message->uid = name + 1000u;
    message->size = 1;
    message->bytes[0] = name;
    return message;
}

static void arrive(uint8_t name, uint32_t priority)
{
    mqueue_arrive_locked(&queue, make(name, priority), &outcome);
}

/* The names of the messages in the queue, which is emptied. */
static const char *rest(void)
{
    static char names[16];
    size_t count = 0;

    while (!list_empty(&queue.messages)) {
        struct message *message = container_of(queue.messages.next, struct message, node);

        names[count++] = (char)message->bytes[0];
        list_remove(&message->node);
        mqueue_free_message(message);
        queue.count--;
    }
    names[count] = '\0';
    return names;
}

/* The task that is told next, which has to be on KERNEL; 0: none is. */
static uint64_t told(uint32_t kernel)
{
    struct mqueue_notice *notice = container_of(outcome.notices.next, struct mqueue_notice, node);
    uint64_t task;

    if (list_empty(&outcome.notices))
        return 0;
    CHECK_EQ(notice->kernel, kernel);
    task = notice->token - 100u;
    list_remove(&notice->node);
    heap_free(notice, sizeof(*notice));
    return task;
}

static void gives_up(uint32_t task)
{
    mqueue_end_wait_locked(&queue, mqueue_find_waiter(&queue, task), &outcome);
}

static void end(void)
{
    CHECK(list_empty(&queue.senders) && list_empty(&queue.receivers) && list_empty(&queue.served));
    CHECK_EQ(queue.waiting, 0);
    CHECK_EQ(queue.count, 0);
    CHECK_EQ(heap_objects, 0);
}

TEST(line_closed, "nobody waits by an open file that has been closed meanwhile")
{
    begin(2);
    file.opens = 0; /* the operation has the file pinned, and its release has looked for waiters or is about to */
    CHECK_EQ(receive(&file, 1, 0), -ESRCH);
    end();
}

TEST(line_order, "messages lie in the order of their priorities, and of their arrival")
{
    begin(8);
    arrive('a', 1);
    arrive('b', 2);
    arrive('c', 1);
    arrive('d', 2);
    CHECK(strcmp(rest(), "bdac") == 0);
    end();
}

TEST(line_back, "messages that the tasks of a dead kernel have got come back in their order, before later ones")
{
    begin(2);
    CHECK_EQ(receive(&file, 1, 3), -EINPROGRESS);
    CHECK_EQ(receive(&file, 2, 3), -EINPROGRESS);
    CHECK_EQ(receive(&file, 3, 3), -EINPROGRESS);
    CHECK_EQ(receive(&file, 4, 1), -EINPROGRESS);
    for (uint8_t name = 'a'; name <= 'd'; name++)
        arrive(name, 1);
    mqueue_forget_waiter(&queue, mqueue_find_waiter(&queue, 4)); /* it has taken the last */
    for (uint32_t task = 1; task <= 3; task++)
        CHECK_EQ(told(3), task);
    CHECK_EQ(told(1), 4);
    arrive('e', 1);
    arrive('f', 2);
    CHECK_EQ(queue.count, 2);
    mqueue_end_waits_locked(&queue, NULL, 2, &outcome); /* another kernel */
    CHECK_EQ(queue.waiting, 3);
    mqueue_end_waits_locked(&queue, NULL, 3, &outcome);
    CHECK(strcmp(rest(), "fabce") == 0);
    end();
}

TEST(line_next, "a message that its receiver does not take goes to the next one that waits")
{
    begin(2);
    CHECK_EQ(receive(&file, 1, 0), -EINPROGRESS);
    CHECK_EQ(receive(&file, 2, 0), -EINPROGRESS);
    CHECK_EQ(receive(&other, 3, 0), -EINPROGRESS);
    queue.process = OWNER;
    arrive('a', 1);
    CHECK(!outcome.event); /* nobody who polls finds anything else */
    CHECK_EQ(told(0), 1);
    CHECK_EQ(told(0), 0);
    mqueue_end_waits_locked(&queue, &file, 0, &outcome);
    CHECK_EQ(told(0), 2); /* its file has been closed; the first task knows already that it has an answer */
    CHECK_EQ(told(0), 3);
    CHECK_EQ(told(0), 0);
    CHECK(mqueue_find_waiter(&queue, 1) == NULL && mqueue_find_waiter(&queue, 2) == NULL);
    CHECK(mqueue_find_waiter(&queue, 3)->served && mqueue_find_waiter(&queue, 3)->message->bytes[0] == 'a');
    CHECK_EQ(outcome.process, 0); /* somebody has it */
    gives_up(3);
    CHECK(strcmp(rest(), "a") == 0);
    end();
}

TEST(line_notify, "mq_notify's signal is sent when the first message comes, or comes back")
{
    begin(2);
    queue.process = OWNER;
    queue.signal = 10;
    queue.value = 5;
    CHECK_EQ(receive(&file, 1, 0), -EINPROGRESS);
    arrive('a', 1);
    CHECK_EQ(outcome.process, 0);
    CHECK_EQ(told(0), 1);
    CHECK(!outcome.event);
    gives_up(1);
    CHECK(outcome.event);
    CHECK_EQ(outcome.process, OWNER);
    CHECK_EQ(outcome.info.signal, 10);
    CHECK_EQ(outcome.info.pid, 'a');
    CHECK_EQ(outcome.info.uid, 'a' + 1000);
    CHECK_EQ(outcome.info.value, 5);
    CHECK_EQ(queue.process, 0); /* once */
    outcome.process = 0;
    queue.process = OWNER;
    arrive('b', 1);
    CHECK_EQ(outcome.process, 0); /* it is not the first */
    CHECK(strcmp(rest(), "ab") == 0);
    end();
}

TEST(line_senders, "a sender that gives up takes its message along, and one that is let in has sent it")
{
    begin(1);
    arrive('a', 1);
    for (uint32_t task = 1; task <= 3; task++) {
        const struct mqueue_call call = {.task = task, .token = task + 100u};

        CHECK_EQ(mqueue_wait_locked(&file, &call, make((uint8_t)('a' + task), 9)), -EINPROGRESS);
    }
    gives_up(1);
    mqueue_let_in_locked(&queue, &outcome); /* there is no room */
    CHECK(!mqueue_find_waiter(&queue, 2)->served);
    CHECK(strcmp(rest(), "a") == 0);
    mqueue_let_in_locked(&queue, &outcome);
    CHECK(mqueue_find_waiter(&queue, 2)->served && !mqueue_find_waiter(&queue, 3)->served);
    CHECK_EQ(told(0), 2);
    CHECK_EQ(told(0), 0);
    mqueue_end_waits_locked(&queue, &file, 0, &outcome);
    CHECK_EQ(told(0), 3);
    CHECK(strcmp(rest(), "c") == 0);
    end();
}
