/* The table of waits and the notices that end them.
 *
 * sources: msg/ring.c msg/message.c msg/channel.c msg/send.c msg/receive.c msg/request/call.c msg/request/kept.c
 *
 * sources: msg/request/multicast.c
 *
 * sources: msg/doorbell.c msg/request/request.c msg/request/gather.c msg/request/long_answer.c msg/fragment.c
 *
 * sources: msg/dispatch.c
 *
 * sources: msg/idle.c msg/stats.c msg/inject.c msg/trace.c msg/control.c msg/report.c boot/options/control.c
 *
 * sources: boot/options/options.c kernel/wait/completion.c tasks/remote/notify.c */
#include "tests/msg/layer.h"

#include "tasks/remote/notify.h"

struct waiter {
    struct remote_wait wait;
    uint32_t notified, after;
    uint64_t words[REMOTE_WORDS];
};

static struct waiter waiters[600];
static uint32_t gone;
static bool sets_after;

/* True when STATEMENT ends a process: it takes a lock that is held. */
static bool is_locked(struct remote_wait *wait)
{
    int status;
    pid_t child;

    fflush(stdout);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        fclose(stderr); /* the lock's complaint */
        remote_wait_end(wait);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    return !WIFEXITED(status);
}

static void note_after(struct remote_wait *wait)
{
    CHECK(!is_locked(wait));
    container_of(wait, struct waiter, wait)->after++;
}

static void note(struct remote_wait *wait, const uint64_t *words_of)
{
    struct waiter *waiter = container_of(wait, struct waiter, wait);

    CHECK(is_locked(wait));
    waiter->notified++;
    memcpy(waiter->words, words_of, sizeof(waiter->words));
    if (sets_after)
        wait->after = note_after;
}

static void note_gone(struct remote_notice *notice)
{
    (void)notice;
    gone++;
}

static void start(void)
{
    begin(3, 1, "");
    remote_notify_init();
}

static void notice_from(uint32_t kernel, uint64_t token)
{
    struct msg_notify message = {.token = token, .words = {1, 2, 3, 4, 5}};

    peers_send(kernel, MSG_NOTIFY, 0, 0, &message, sizeof(message));
    msg_poll();
}

ALONE(notice, "a notice of the kernel that may notify a wait calls its function once, under the lock, with the words")
{
    start();
    remote_wait_begin(&waiters[0].wait, PEER, note);
    notice_from(PEER, waiters[0].wait.token);
    CHECK(waiters[0].notified == 1 && waiters[0].words[0] == 1 && waiters[0].words[4] == 5 && waiters[0].after == 0);
    remote_wait_end(&waiters[0].wait);
}

ALONE(after, "what the function leaves for later is called once, without the lock")
{
    start();
    sets_after = true;
    remote_wait_begin(&waiters[0].wait, PEER, note);
    notice_from(PEER, waiters[0].wait.token);
    CHECK(waiters[0].notified == 1 && waiters[0].after == 1);
    sets_after = false;
    notice_from(PEER, waiters[0].wait.token);
    CHECK(waiters[0].notified == 2 && waiters[0].after == 1);
    remote_wait_end(&waiters[0].wait);
}

ALONE(foreign,
      "a notice with another token, or from another kernel, is dropped; any kernel may notify a wait that says so")
{
    start();
    remote_wait_begin(&waiters[0].wait, PEER, note);
    remote_wait_begin(&waiters[1].wait, REMOTE_ANY, note);
    notice_from(PEER, waiters[1].wait.token + 1);
    notice_from(PEER, 0);
    notice_from(PEER, waiters[0].wait.token + 256); /* the same bucket */
    notice_from(OTHER, waiters[0].wait.token);
    CHECK(waiters[0].notified == 0 && waiters[1].notified == 0);
    notice_from(OTHER, waiters[1].wait.token);
    notice_from(PEER, waiters[1].wait.token);
    CHECK(waiters[0].notified == 0 && waiters[1].notified == 2);
    remote_wait_end(&waiters[0].wait);
    remote_wait_end(&waiters[1].wait);
}

ALONE(late, "once a wait has ended no notice reaches it, nor the wait that uses its memory next")
{
    uint64_t token;

    start();
    remote_wait_begin(&waiters[0].wait, PEER, note);
    token = waiters[0].wait.token;
    remote_wait_end(&waiters[0].wait);
    notice_from(PEER, token);
    CHECK_EQ(waiters[0].notified, 0);
    remote_wait_begin(&waiters[0].wait, PEER, note);
    CHECK(waiters[0].wait.token > token);
    notice_from(PEER, token);
    CHECK_EQ(waiters[0].notified, 0);
    notice_from(PEER, waiters[0].wait.token);
    CHECK_EQ(waiters[0].notified, 1);
    remote_wait_end(&waiters[0].wait);
}

ALONE(many, "many waits at a time are told apart")
{
    start();
    for (uint32_t i = 0; i < 600; i++)
        remote_wait_begin(&waiters[i].wait, i % 2 != 0 ? PEER : OTHER, note);
    for (uint32_t i = 0; i < 600; i += 7)
        notice_from(i % 2 != 0 ? PEER : OTHER, waiters[i].wait.token);
    for (uint32_t i = 0; i < 600; i++)
        CHECK_EQ(waiters[i].notified, i % 7 == 0);
    for (uint32_t i = 0; i < 600; i++)
        remote_wait_end(&waiters[i].wait);
}

ALONE(send, "a notice to another kernel is one message with the token and the words, the rest of them zero")
{
    static struct remote_notice notices[1];
    static const uint64_t two[2] = {71, 72};
    const struct peers_message *m;
    struct msg_notify message;

    start();
    remote_notify(&notices[0], PEER, 1ull << 40, two, sizeof(two), note_gone);
    CHECK_EQ(gone, 1);
    m = peers_take(PEER, MSG_ORDINARY);
    CHECK(m != NULL && m->type == MSG_NOTIFY && m->length == sizeof(message));
    memcpy(&message, m->data, sizeof(message));
    CHECK(message.token == 1ull << 40 && message.words[0] == 71 && message.words[1] == 72);
    CHECK(message.words[2] == 0 && message.words[4] == 0);
    expect_nothing();
}

ALONE(send_queued, "a notice that finds no room keeps its memory until it has gone")
{
    static struct remote_notice notices[4];

    begin(3, 1, "ring=4");
    remote_notify_init();
    for (uint32_t i = 0; i < 4; i++)
        remote_notify(&notices[i], PEER, i + 1, NULL, 0, note_gone);
    CHECK_EQ(gone, 3); /* the ring's last slot is for short replies */
    for (uint32_t i = 0; i < 3; i++)
        CHECK(peers_take(PEER, MSG_ORDINARY)->type == MSG_NOTIFY);
    peers_signal(PEER);
    msg_poll();
    CHECK_EQ(gone, 4);
    CHECK_EQ(peers_take(PEER, MSG_ORDINARY)->data[0], 4);
}

ALONE(own, "a notice to a wait of the kernel itself is taken at once, and its memory is free")
{
    static struct remote_notice notices[2];

    start();
    remote_wait_begin(&waiters[0].wait, OWN, note);
    remote_notify(&notices[0], OWN, waiters[0].wait.token, words, 40, note_gone);
    CHECK(waiters[0].notified == 1 && waiters[0].words[4] == 55 && gone == 1);
    remote_wait_end(&waiters[0].wait);
    remote_notify(&notices[1], OWN, waiters[0].wait.token, words, 40, note_gone);
    CHECK(waiters[0].notified == 1 && gone == 2);
    expect_nothing();
}
