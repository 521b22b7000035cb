/* A thread that quiesces because its process is stopped.
 * sources: tasks/process/stop.c */
#include "tasks/process/stop.h"

#include "kernel/instance/instance.h"
#include "msg/channel.h"
#include "tasks/process/call.h"
#include "tasks/process/process.h"
#include "tasks/remote/work.h"
#include "tasks/sched/due.h"
#include "tasks/sched/waitq.h"
#include "tests/stand_in/groups.h"
#include "tests/stand_in/heap.h"
#include "tests/stand_in/messages.h"
#include "tests/stand_in/panic.h"
#include "tests/test.h"

struct instance instance;

static struct group group;
static struct thread thread;
static uint32_t waits; /* of the thread */

/* The thread waits: its process is stopped, and continues after the second wait. A move that is ordered meanwhile is
 * not waited for. */
void waitq_wait(struct waitq *queue, struct spinlock *lock, const struct wait_reason *reason, enum wait_end end,
                uint64_t deadline)
{
    (void)reason;
    CHECK(queue == &group.stop_wait && spin_held(lock) && end == WAIT_KILLABLE && deadline == 0);
    CHECK(thread.quiesced);
    thread.due |= THREAD_DUE_MOVE;
    if (++waits == 2)
        group.stopped = false;
}

/* --- not used here --- */

void waitq_wake_all(struct waitq *queue)
{
    (void)queue;
}

void thread_set_due(struct thread *who, uint32_t flag)
{
    who->due |= flag;
}

void *heap_alloc_sure(size_t size)
{
    return heap_alloc(size);
}

void signal_queue_remove(struct signal_queue *queue, uint64_t set)
{
    (void)queue;
    (void)set;
}

int process_notify(const struct msg_process_call *call)
{
    (void)call;
    return 0;
}

int64_t process_call_surely(const struct msg_process_call *call, struct msg_process_result *result)
{
    (void)call;
    (void)result;
    return 0;
}

void msg_keep(const struct msg *m, struct msg_kept *kept, void (*cancelled)(struct msg_kept *kept))
{
    (void)m;
    (void)kept;
    (void)cancelled;
}

void msg_kept_reply(struct msg_kept *kept, const void *data, uint32_t length, void (*done)(struct msg_kept *kept))
{
    (void)kept;
    (void)data;
    (void)length;
    (void)done;
}

void msg_ask(struct msg_asking *asking, uint32_t kernel, enum msg_type type, const void *data, uint32_t length,
             msg_answer answer, void *context)
{
    (void)asking;
    (void)kernel;
    (void)type;
    (void)data;
    (void)length;
    (void)answer;
    (void)context;
}

/* --- */

/* The process is stopped, and THREAD is on its way to user mode. */
static void start(uint32_t due)
{
    group = (struct group){.id = 1, .stopped = true};
    waitq_init(&group.stop_wait);
    list_init(&group.threads);
    thread = (struct thread){.group = &group, .presence = THREAD_PRESENT, .due = due};
    list_append(&group.threads, &thread.group_node);
    waits = 0;
}

TEST(stops, "a thread of a stopped process waits until it is continued, also if it is to move meanwhile")
{
    start(THREAD_DUE_STOP);
    stop_quiesce(&thread);
    CHECK_EQ(waits, 2);
    CHECK(!thread.quiesced && thread.due == THREAD_DUE_MOVE);
}

/* Who has ordered the move waits until the thread has moved or is quiesced, and nothing tells it of the latter. */
TEST(moves_first, "a thread that is to move when it quiesces moves first")
{
    start(THREAD_DUE_STOP | THREAD_DUE_MOVE);
    stop_quiesce(&thread);
    CHECK_EQ(waits, 0);
    CHECK(!thread.quiesced && thread.due == (THREAD_DUE_STOP | THREAD_DUE_MOVE));
}
