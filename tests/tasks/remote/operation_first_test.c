/* Operations that only kernel 0 does, on kernel 0.
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
#define OWN 0u
#define PEER 1u
#include "tests/tasks/remote/remote.h"

#define SIZE 16u

static struct remote_request seen;
static uint32_t runs;
static int returns = 100;

static int run(const struct remote_request *request, void *result)
{
    runs++;
    seen = *request;
    CHECK(memcmp(request->data, words, SIZE) == 0);
    if (returns > 0)
        memset(result, 7, (size_t)returns);
    return returns;
}

static int room(const struct remote_request *request)
{
    (void)request;
    return 200;
}

ALONE(to_first, "kernel 0 does for all what only it may do")
{
    begin(3, 1, "");
    remote_serve(MSG_FILE_NAMELESS, run, NULL, SIZE, 8);
    returns = 8;
    ask(PEER, MSG_FILE_NAMELESS, 1, words, SIZE);
    CHECK_EQ(expect_answer(PEER, MSG_FILE_NAMELESS, 1, 8)[0], 7);
    ask(OTHER, MSG_FILE_NAMELESS, 2, words, SIZE);
    expect_answer(OTHER, MSG_FILE_NAMELESS, 2, 8);
    CHECK(runs == 2 && seen.kernel == OTHER && !seen.task);
}

ALONE(worker_of_other, "an operation of a worker is done as a task's for another kernel")
{
    begin(3, 1, "");
    remote_serve_task(MSG_AUDIT_ALL, WORK_LEAF, run, room, SIZE, 0);
    ask(PEER, MSG_AUDIT_ALL, 1, words, SIZE);
    expect_kept(PEER, MSG_AUDIT_ALL, 1);
    CHECK(runs == 0 && work_count == 1);
    run_work();
    CHECK(seen.task && seen.kernel == PEER);
    CHECK_EQ(expect_answer(PEER, MSG_AUDIT_ALL, 1, 100)[99], 7);
}

static void work(const struct wait_reason *reason)
{
    (void)reason;
    CHECK_EQ(runs, 0);
    run_work();
}

static void die(const struct wait_reason *reason)
{
    (void)reason;
    peers_dying = true;
}

ALONE(worker, "a worker also does it for a task of the kernel itself, whose wait may be ended")
{
    static const struct remote_how how = {.why = "test", .end = WAIT_KILLABLE};
    uint8_t result[200] = {0};

    begin(3, 1, "");
    remote_serve_task(MSG_AUDIT_ALL, WORK_LEAF, run, room, SIZE, 0);
    peers_waiting = work;
    CHECK_EQ(remote_call(OWN, MSG_AUDIT_ALL, words, SIZE, result, 200, &how), 100);
    CHECK(runs == 1 && seen.task && seen.kernel == OWN && result[0] == 7 && result[99] == 7 && result[100] == 0);
    returns = -EBUSY;
    runs = 0;
    CHECK_EQ(remote_call(OWN, MSG_AUDIT_ALL, words, SIZE, result, 200, &how), -EBUSY);
    runs = 0;
    peers_fail_next(1);
    CHECK_EQ(remote_call(OWN, MSG_AUDIT_ALL, words, SIZE, result, 200, &how), -ENOMEM);
    CHECK_EQ(runs, 0);
    peers_waiting = die;
    CHECK_EQ(remote_call(OWN, MSG_AUDIT_ALL, words, SIZE, result, 200, &how), -EINTR);
    CHECK(msg_kept_count() == 1 && work_count == 1);
    run_work();
    CHECK(runs == 1 && msg_stats.late_reply == 1 && msg_kept_count() == 0);
    expect_none(PEER);
}
