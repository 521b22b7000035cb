/* Waiters for locks that lend priority, between their kernel and the home of the word: the messages of both sides, and
 * the table of the waits of this kernel's threads. See tasks/futex/pi/pi.md.
 *
 * Lock order: the table of waits, then a group's lock, then run queues. */
#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/call.h"
#include "tasks/futex/pi/internal.h"
#include "tasks/process/group.h"
#include "tasks/sched/sched.h"

#define BUCKETS 256u

static struct spinlock waits_lock;
static struct list waits[BUCKETS]; /* [k] waits_lock */
static uint64_t last_token;        /* [k] waits_lock */

int pi_wait_begin(struct pi_wait *wait, const struct futex_place *lock, uint64_t address, uint32_t home)
{
    struct thread *thread = thread_current();

    *wait = (struct pi_wait){.thread = thread, .place = *lock, .address = address, .home = home};
    wait->loan = heap_alloc(sizeof(*wait->loan));
    if (wait->loan == NULL)
        return -ENOMEM;
    spin_lock(&waits_lock);
    wait->token = ++last_token;
    list_append(&waits[wait->token % BUCKETS], &wait->node);
    spin_unlock(&waits_lock);
    spin_lock(&thread->group->lock);
    thread->pi.wait = wait;
    spin_unlock(&thread->group->lock);
    return 0;
}

void pi_wait_end(struct pi_wait *wait)
{
    struct thread *thread = wait->thread;

    spin_lock(&waits_lock);
    list_remove(&wait->node);
    spin_unlock(&waits_lock);
    spin_lock(&thread->group->lock);
    thread->pi.wait = NULL;
    spin_unlock(&thread->group->lock);
    heap_free(wait->loan, sizeof(*wait->loan));
    wait->loan = NULL;
}

void pi_take_told(const struct msg_pi_told *message)
{
    spin_lock(&waits_lock);
    list_for_each(node, &waits[message->token % BUCKETS]) {
        struct pi_wait *wait = container_of(node, struct pi_wait, node);
        struct thread *thread = wait->thread;

        if (wait->token != message->token)
            continue;
        spin_lock(&thread->group->lock);
        if (message->told == PI_GRANTED)
            pi_granted_locked(wait, message->stamp, message->urgency);
        wait->died = message->died != 0;
        wait->from = message->from;
        wait->told = message->told;
        if (wait->asleep)
            sched_wake(thread);
        spin_unlock(&thread->group->lock);
        break;
    }
    spin_unlock(&waits_lock);
}

static void handle_told(const struct msg *m)
{
    pi_take_told(m->data);
}

static void handle_call(const struct msg *m)
{
    struct msg_pi_pair pair = {.mark = 0};
    struct msg_pi_result result = {.value = -EPROTO};

    if (m->length == sizeof(pair.call) || m->length == sizeof(pair)) {
        memcpy(&pair, m->data, m->length);
        pi_serve(m->ticket.kernel, &pair, &result);
    }
    msg_reply(&m->ticket, &result, sizeof(result));
}

/* What the home cannot refuse: a call that finds no slot has not been sent, and is tried again. */
static void ask(uint32_t home, const void *data, uint32_t length, struct msg_pi_result *result)
{
    const struct msg_pi_call *call = data;
    int error;

    while ((error = msg_call(home, MSG_PI_CALL, data, length, result, sizeof(*result), "queue of its lock",
                             call->key.word)) == -ENOMEM) {
        msg_poll();
        sched_yield();
    }
    if (error < 0)
        *result = (struct msg_pi_result){.value = error};
}

void pi_call(uint32_t home, const struct msg_pi_call *call, struct msg_pi_result *result)
{
    struct msg_pi_pair pair = {.call = *call};

    if (home == instance.kernel)
        pi_serve(home, &pair, result);
    else
        ask(home, call, sizeof(*call), result);
}

void pi_call_pair(uint32_t home, const struct msg_pi_pair *pair, struct msg_pi_result *result)
{
    if (home == instance.kernel)
        pi_serve(home, pair, result);
    else
        ask(home, pair, sizeof(*pair), result);
}

void pi_init(void)
{
    for (uint32_t i = 0; i < BUCKETS; i++)
        list_init(&waits[i]);
    pi_queue_init();
    msg_register(MSG_PI_CALL, handle_call, sizeof(struct msg_pi_call), sizeof(struct msg_pi_result));
    msg_register(MSG_PI_TOLD, handle_told, sizeof(struct msg_pi_told), 0);
}
