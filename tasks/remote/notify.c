/* The table of waits, and the notices that end them. See the header. */
#include "tasks/remote/notify.h"

#include "kernel/arch/x86_64/clock.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/instance/instance.h"
#include "msg/slice.h"

#define BUCKETS 256u

static struct spinlock lock;
static struct list waits[BUCKETS]; /* [k] lock: by token */
static uint64_t last_token;        /* [k] lock: tokens only grow */

void remote_wait_begin(struct remote_wait *wait, uint32_t kernel,
                       void (*notified)(struct remote_wait *wait, const uint64_t *words))
{
    wait->kernel = kernel;
    wait->notified = notified;
    wait->after = NULL;
    spin_lock(&lock);
    wait->token = ++last_token;
    list_append(&waits[wait->token % BUCKETS], &wait->node);
    spin_unlock(&lock);
}

void remote_wait_end(struct remote_wait *wait)
{
    spin_lock(&lock);
    list_remove(&wait->node);
    spin_unlock(&lock);
}

/* The wait TOKEN, if KERNEL may notify it; else NULL. */
static struct remote_wait *find_locked(uint32_t kernel, uint64_t token)
{
    list_for_each(node, &waits[token % BUCKETS]) {
        struct remote_wait *wait = container_of(node, struct remote_wait, node);

        if (wait->token == token && (wait->kernel == kernel || wait->kernel == REMOTE_ANY))
            return wait;
    }
    return NULL;
}

/* Takes a notice of KERNEL. */
static void take(uint32_t kernel, const struct msg_notify *message)
{
    void (*after)(struct remote_wait *) = NULL;
    struct remote_wait *wait;

    spin_lock(&lock);
    wait = find_locked(kernel, message->token);
    if (wait != NULL) {
        wait->notified(wait, message->words);
        after = wait->after;
        wait->after = NULL;
    }
    spin_unlock(&lock);
    if (after != NULL)
        after(wait);
}

static void sent(struct msg_outgoing *outgoing)
{
    struct remote_notice *notice = container_of(outgoing, struct remote_notice, outgoing);

    notice->done(notice);
}

void remote_notice_send(struct remote_notice *notice, uint32_t kernel, uint64_t token,
                        void (*done)(struct remote_notice *notice))
{
    notice->message.token = token;
    notice->done = done;
    if (kernel != instance.kernel) {
        msg_post(&notice->outgoing, kernel, MSG_NOTIFY, &notice->message, sizeof(notice->message), sent);
        return;
    }
    take(kernel, &notice->message);
    done(notice);
}

static void handle(const struct msg *m)
{
    take(m->ticket.kernel, m->data);
}

/* Tells the next wait of LIST behind *TOKEN that KERNEL, or any kernel, may notify. Tokens of a list ascend. */
static bool lose_next(struct list *list, uint32_t kernel, uint64_t *token)
{
    static const uint64_t nothing[REMOTE_WORDS];
    void (*after)(struct remote_wait *) = NULL;
    struct remote_wait *lost = NULL;

    spin_lock(&lock);
    for (struct list *node = list->next; node != list && lost == NULL; node = node->next) {
        struct remote_wait *wait = container_of(node, struct remote_wait, node);

        if (wait->token > *token && (wait->kernel == kernel || wait->kernel == REMOTE_ANY))
            lost = wait;
    }
    if (lost != NULL) {
        *token = lost->token;
        lost->notified(lost, nothing);
        after = lost->after;
        lost->after = NULL;
    }
    spin_unlock(&lock);
    if (after != NULL)
        after(lost);
    return lost != NULL;
}

void remote_wait_lost(uint32_t kernel)
{
    for (uint32_t i = 0; i < BUCKETS; i++) {
        uint64_t token = 0;

        while (lose_next(&waits[i], kernel, &token))
            slice_check();
    }
}

void remote_notify_init(void)
{
    for (uint32_t i = 0; i < BUCKETS; i++)
        list_init(&waits[i]);
    last_token = clock_now(); /* so a kernel that starts again does not use a token of its former life */
    msg_register(MSG_NOTIFY, handle, sizeof(struct msg_notify), 0);
}
