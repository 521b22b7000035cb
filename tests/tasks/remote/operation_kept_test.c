/* Operations whose requests are kept until an event, and given up meanwhile.
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
 * sources: boot/options/options.c kernel/wait/completion.c tasks/remote/operation.c */
#include "tests/tasks/remote/remote.h"

#define SIZE 16u /* of the requests' payload structs */

static uint32_t runs;
static struct remote_request seen;
static int returns = 8; /* if it does not keep the request */

/* An operation that is kept, as a room would have it: an object for each request. */
struct waiting {
    struct remote_kept kept;
    bool waits;
};

static struct waiting *waiting[8];
static uint32_t waiting_count, cancels, dones, dones_in_cancel;
static bool keeps;

static void give_up(struct remote_kept *kept)
{
    struct waiting *w = container_of(kept, struct waiting, kept);

    cancels++;
    if (w->waits) {
        w->waits = false;
        remote_answer(kept, NULL, -EINTR);
    }
    CHECK(!w->waits); /* the memory is still there */
    dones_in_cancel += dones;
}

static void free_waiting(struct remote_kept *kept)
{
    dones++;
    free(container_of(kept, struct waiting, kept));
}

static int keep(const struct remote_request *request, void *result)
{
    struct waiting *w;

    runs++;
    seen = *request;
    if (!keeps) {
        memcpy(result, words, 8);
        return returns;
    }
    CHECK(waiting_count < 8);
    w = waiting[waiting_count++] = calloc(1, sizeof(*w));
    w->waits = true;
    return remote_keep(request, &w->kept, give_up, free_waiting);
}

static void start(const char *cmdline)
{
    begin(3, 1, cmdline);
    remote_serve(MSG_WATCH, keep, NULL, SIZE, 8);
    keeps = true;
}

static void answer(uint32_t i, int length)
{
    CHECK(waiting[i]->waits);
    waiting[i]->waits = false;
    remote_answer(&waiting[i]->kept, words, length);
}

ALONE(kept, "a function that may keep its request answers it at once, or later, when the event occurs")
{
    start("");
    keeps = false;
    ask(PEER, MSG_WATCH, 1, words, SIZE);
    expect_answer(PEER, MSG_WATCH, 1, 8);
    returns = -ESRCH;
    ask(PEER, MSG_WATCH, 2, words, SIZE);
    expect_answer(PEER, MSG_WATCH, 2, -ESRCH);
    keeps = true;
    ask(PEER, MSG_WATCH, 3, words, SIZE);
    expect_kept(PEER, MSG_WATCH, 3);
    ask(OTHER, MSG_WATCH, 4, words, SIZE);
    expect_kept(OTHER, MSG_WATCH, 4);
    CHECK(msg_kept_count() == 2 && work_count == 0);
    answer(1, -EIO);
    expect_answer(OTHER, MSG_WATCH, 4, -EIO);
    expect_none(PEER);
    answer(0, 8);
    CHECK_EQ(expect_answer(PEER, MSG_WATCH, 3, 8)[0], 11);
    CHECK(dones == 2 && cancels == 0 && msg_kept_count() == 0);
    cancel(PEER, MSG_WATCH, 3); /* late: the answer is on its way */
    CHECK(cancels == 0 && work_count == 0);
}

ALONE(kept_cancelled,
      "when the caller gives up a worker calls cancel once; what it answers frees the memory only behind it")
{
    start("");
    ask(PEER, MSG_WATCH, 1, words, SIZE);
    expect_kept(PEER, MSG_WATCH, 1);
    cancel(PEER, MSG_WATCH, 2);
    cancel(OTHER, MSG_WATCH, 1);
    CHECK_EQ(work_count, 0);
    cancel(PEER, MSG_WATCH, 1);
    cancel(PEER, MSG_WATCH, 1); /* a stop repeats it */
    CHECK(cancels == 0 && work_count == 1);
    expect_none(PEER);
    run_work();
    expect_answer(PEER, MSG_WATCH, 1, -EINTR);
    CHECK(cancels == 1 && dones == 1 && dones_in_cancel == 0 && msg_kept_count() == 0);
    expect_none(PEER);
}

ALONE(kept_race,
      "an event between the word that the caller gives up and the worker answers; the worker finds the memory")
{
    start("");
    ask(PEER, MSG_WATCH, 1, words, SIZE);
    expect_kept(PEER, MSG_WATCH, 1);
    cancel(PEER, MSG_WATCH, 1);
    answer(0, 0);
    expect_answer(PEER, MSG_WATCH, 1, 0);
    CHECK(cancels == 0 && dones == 0);
    cancel(PEER, MSG_WATCH, 1);
    CHECK_EQ(work_count, 1);
    run_work();
    CHECK(cancels == 1 && dones == 1);
    expect_none(PEER);
}

ALONE(kept_queued, "the memory of an answer that finds no room is free when it has gone and cancel has returned")
{
    start("ring=4");
    ask(PEER, MSG_WATCH, 1, words, SIZE);
    expect_kept(PEER, MSG_WATCH, 1);
    cancel(PEER, MSG_WATCH, 1);
    for (uint32_t i = 0; i < 3; i++)
        CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
    run_work();
    CHECK(cancels == 1 && dones == 0);
    for (uint32_t i = 0; i < 3; i++)
        CHECK(!peers_take(PEER, MSG_ORDINARY)->reply);
    peers_signal(PEER);
    msg_poll();
    expect_answer(PEER, MSG_WATCH, 1, -EINTR);
    CHECK_EQ(dones, 1);
}

static void event(const struct wait_reason *reason)
{
    (void)reason;
    answer(0, 8);
}

static void die(const struct wait_reason *reason)
{
    (void)reason;
    peers_dying = true;
}

ALONE(kept_own, "a task's request to its own kernel is kept, answered and given up as another kernel's")
{
    static const struct remote_how how = {.why = "test", .end = WAIT_INTERRUPTIBLE};
    static const struct remote_how limited = {.why = "test", .timeout = 1000};
    uint64_t result = 0;

    start("");
    keeps = false;
    CHECK_EQ(remote_call(OWN, MSG_WATCH, words, SIZE, &result, 8, &how), 8);
    CHECK(!seen.task && seen.kernel == OWN);
    keeps = true;
    peers_waiting = event;
    CHECK(remote_call(OWN, MSG_WATCH, words, SIZE, &result, 8, &how) == 8 && result == 11);
    CHECK(dones == 1 && work_count == 0);
    peers_waiting = NULL;
    CHECK_EQ(remote_call(OWN, MSG_WATCH, words, SIZE, &result, 8, &limited), -ETIMEDOUT);
    CHECK_EQ(work_count, 1);
    run_work();
    CHECK(cancels == 1 && dones == 2 && msg_unanswered() == 0);
    peers_waiting = die;
    CHECK_EQ(remote_call(OWN, MSG_WATCH, words, SIZE, &result, 8, &how), -EINTR);
    CHECK(msg_unanswered() == 1 && work_count == 1);
    run_work();
    CHECK(cancels == 2 && dones == 3 && msg_unanswered() == 0 && msg_kept_count() == 0);
    expect_none(PEER);
}

static void keep_and_die(const struct wait_reason *reason)
{
    const struct peers_message *m = peers_take(PEER, MSG_ORDINARY);

    (void)reason;
    CHECK(m != NULL && m->type == MSG_WATCH && !m->reply);
    peers_send(PEER, MSG_WATCH, PEERS_REPLY | PEERS_KEPT, m->request, NULL, 0);
    msg_poll();
    peers_dying = true;
}

ALONE(given_up, "a caller that gives up what another kernel keeps notifies that kernel, and its answer is dropped")
{
    static const struct remote_how how = {.why = "test", .end = WAIT_INTERRUPTIBLE};
    const struct peers_message *m;
    struct msg_cancel message;
    uint64_t result = 0;

    start("");
    peers_waiting = keep_and_die;
    CHECK_EQ(remote_call(PEER, MSG_WATCH, words, SIZE, &result, 8, &how), -EINTR);
    m = peers_take(PEER, MSG_ORDINARY);
    CHECK(m != NULL && m->type == MSG_CANCEL);
    memcpy(&message, m->data, sizeof(message));
    CHECK(message.type == MSG_WATCH && msg_unanswered() == 1); /* which says it again, for a kernel that stops */
    m = peers_take(PEER, MSG_ORDINARY);
    CHECK(m != NULL && m->type == MSG_CANCEL && memcmp(m->data, &message, sizeof(message)) == 0);
    peers_send(PEER, MSG_WATCH, PEERS_REPLY, message.request, words, 8);
    msg_poll();
    CHECK(msg_unanswered() == 0 && msg_stats.late_reply == 1 && result == 0);
}

/* The peer keeps the request; to the CANCEL it answers what it has meanwhile. */
static int has = 40;

static void keep_and_answer(const struct wait_reason *reason)
{
    const struct peers_message *m = peers_take(PEER, MSG_ORDINARY);
    struct msg_cancel message;
    int64_t error = has;

    (void)reason;
    CHECK(m != NULL);
    CHECK(!m->reply);
    if (m->type == MSG_FILE_READ) {
        peers_send(PEER, MSG_FILE_READ, PEERS_REPLY | PEERS_KEPT, m->request, NULL, 0);
        peers_dying = true;
    } else {
        CHECK_EQ(m->type, MSG_CANCEL);
        memcpy(&message, m->data, sizeof(message));
        CHECK_EQ(message.type, MSG_FILE_READ);
        peers_send(PEER, MSG_FILE_READ, has < 0 ? PEERS_REPLY | PEERS_ERROR : PEERS_REPLY, message.request,
                   has < 0 ? (const void *)&error : words, has < 0 ? 8 : (uint32_t)has);
    }
    msg_poll();
}

static int room;

static int room_of_request(const struct remote_request *request)
{
    (void)request;
    return room;
}

static void start_reading(const char *cmdline)
{
    begin(3, 1, cmdline);
    remote_serve(MSG_FILE_READ, keep, room_of_request, 40, 32);
    keeps = true;
}

static const struct remote_how recalling = {.why = "test", .end = WAIT_INTERRUPTIBLE, .recalls = true};

ALONE(recalled, "a caller that recalls what another kernel keeps gets its answer, and nothing that was done is lost")
{
    uint64_t result[5] = {0};

    start_reading("");
    peers_waiting = keep_and_answer;
    CHECK(remote_call(PEER, MSG_FILE_READ, words, 40, result, 40, &recalling) == 40);
    CHECK(memcmp(result, words, 40) == 0 && msg_unanswered() == 0 && msg_stats.late_reply == 0);
    peers_dying = false;
    has = -EINTR;
    CHECK_EQ(remote_call(PEER, MSG_FILE_READ, words, 40, result, 40, &recalling), -EINTR);
    CHECK(msg_unanswered() == 0 && msg_stats.late_reply == 0);
    expect_none(PEER);
}

/* The ring is full before the caller gives up. */
static void fill_and_answer(const struct wait_reason *reason)
{
    bool asked = peers_dying;

    if (asked) {
        for (uint32_t i = 0; i < 2; i++)
            CHECK_EQ(peers_take(PEER, MSG_ORDINARY)->type, MSG_TELL);
        peers_signal(PEER);
        msg_poll();
        peers_waiting = keep_and_answer;
        return;
    }
    keep_and_answer(reason);
    for (uint32_t i = 0; i < 2; i++)
        CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
}

ALONE(recalled_queued, "a CANCEL that recalls waits for room, and is not lost")
{
    uint64_t result[5] = {0};

    start_reading("ring=4");
    peers_waiting = fill_and_answer;
    CHECK(remote_call(PEER, MSG_FILE_READ, words, 40, result, 40, &recalling) == 40);
    CHECK(memcmp(result, words, 40) == 0 && msg_unanswered() == 0);
    expect_none(PEER);
}

ALONE(either_kept, "an operation of a handler or a task may be kept too, and its answer may be long")
{
    static uint8_t bytes[200];

    start_reading("");
    room = 48;
    ask(PEER, MSG_FILE_READ, 1, words, 40);
    expect_kept(PEER, MSG_FILE_READ, 1);
    expect_none(PEER);
    answer(0, 8);
    expect_answer(PEER, MSG_FILE_READ, 1, 8);
    room = sizeof(bytes);
    ask(PEER, MSG_FILE_READ, 2, words, 40);
    expect_kept(PEER, MSG_FILE_READ, 2);
    expect_none(PEER);
    waiting[1]->waits = false;
    remote_answer(&waiting[1]->kept, bytes, sizeof(bytes));
    CHECK(dones == 2 && msg_kept_count() == 0);
    CHECK(peers_take(PEER, MSG_ORDINARY)->reply);
}
