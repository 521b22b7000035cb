/* Operations: each kind of row but KEPT (operation_kept_test.c), refusals, lost kernels, and lack of memory.
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

/* What the functions below have seen and are to return. */
static uint32_t runs;
static struct remote_request seen;
static uint64_t seen_data[512];
static int returns[4]; /* the first time, the second, ... */
static int room_is;
static uint32_t task_length; /* of what remote_task_with gives; 0: nothing */
static uint64_t other_data[4] = {91, 92, 93, 94};

static int run(const struct remote_request *request, void *result)
{
    int length = returns[runs < 4 ? runs : 3];

    runs++;
    seen = *request;
    memcpy(seen_data, request->data, request->length);
    for (int i = 0; i < length && length <= 2000; i++)
        ((uint8_t *)result)[i] = (uint8_t)(i * 3);
    if (length == REMOTE_TASK && task_length > 0)
        return remote_task_with(request, other_data, task_length, 8);
    return length;
}

static int room(const struct remote_request *request)
{
    CHECK(request->length >= SIZE);
    return room_is;
}

static bool right_bytes(const uint8_t *bytes, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) {
        if (bytes[i] != (uint8_t)(i * 3))
            return false;
    }
    return true;
}

static void start(void)
{
    begin(3, 1, "");
    returns[0] = returns[1] = returns[2] = returns[3] = 8;
}

ALONE(handler, "an operation of a handler is done and answered at once, with its result or its error")
{
    start();
    remote_serve(MSG_FUTEX_LEAVE, run, NULL, SIZE, 8);
    ask(PEER, MSG_FUTEX_LEAVE, 5, words, SIZE);
    CHECK(runs == 1 && seen.type == MSG_FUTEX_LEAVE && seen.kernel == PEER && !seen.task && seen.length == SIZE);
    CHECK(seen_data[0] == 11 && seen_data[1] == 22);
    CHECK(right_bytes(expect_answer(PEER, MSG_FUTEX_LEAVE, 5, 8), 8));
    returns[1] = -ESRCH;
    ask(OTHER, MSG_FUTEX_LEAVE, 6, words, SIZE);
    expect_answer(OTHER, MSG_FUTEX_LEAVE, 6, -ESRCH);
    expect_none(PEER);
    CHECK_EQ(work_count, 0);
}

ALONE(handler_long, "a result that has room for more than a slot is answered in one piece, however long it is")
{
    uint64_t before;

    start();
    remote_serve(MSG_FILE_POLL, run, room, SIZE, 0);
    room_is = 1000;
    for (int round = 0; round < 4; round++) {
        static const int lengths[] = {1000, 40, 0, -EIO};

        before = peers_live_objects;
        runs = 0;
        returns[0] = lengths[round];
        ask(PEER, MSG_FILE_POLL, 7, words, 24);
        CHECK(runs == 1 && seen.length == 24 && seen_data[2] == 33);
        if (lengths[round] > (int)MSG_SHORT)
            expect_kept(PEER, MSG_FILE_POLL, 7);
        expect_answer(PEER, MSG_FILE_POLL, 7, lengths[round]);
        CHECK(round == 0 || peers_live_objects == before); /* the first long one leaves the peer's buffers */
    }
    peers_fail_next(1);
    runs = 0;
    ask(PEER, MSG_FILE_POLL, 8, words, 24);
    expect_answer(PEER, MSG_FILE_POLL, 8, -ENOMEM);
    CHECK_EQ(runs, 0);
}

ALONE(room_refuses, "a request that the room function refuses gets its errno, and nothing is done")
{
    start();
    remote_serve(MSG_FILE_POLL, run, room, SIZE, 0);
    remote_serve_task(MSG_EPOLL_WAIT, WORK_LEAF, run, room, SIZE, 0);
    room_is = -EMSGSIZE;
    ask(PEER, MSG_FILE_POLL, 1, words, SIZE);
    expect_answer(PEER, MSG_FILE_POLL, 1, -EMSGSIZE);
    ask(PEER, MSG_EPOLL_WAIT, 2, words, SIZE);
    expect_answer(PEER, MSG_EPOLL_WAIT, 2, -EMSGSIZE);
    CHECK(runs == 0 && work_count == 0);
}

ALONE(room_of_caller, "a task's own room is to be enough for what the operation may answer")
{
    static const struct remote_how how = {.why = "test"};
    uint64_t result[4];

    start();
    remote_serve(MSG_FILE_POLL, run, room, SIZE, 0);
    room_is = 24;
    CHECK_EQ(remote_call(OWN, MSG_FILE_POLL, words, SIZE, result, 16, &how), -EMSGSIZE);
    CHECK_EQ(runs, 0);
    CHECK_EQ(remote_call(OWN, MSG_FILE_POLL, words, SIZE, result, 24, &how), 8);
    CHECK(runs == 1 && seen.kernel == OWN && seen.task && seen.data == words && right_bytes((uint8_t *)result, 8));
    room_is = -EPROTO;
    CHECK_EQ(remote_call(OWN, MSG_FILE_POLL, words, SIZE, result, 24, &how), -EPROTO);
    CHECK_EQ(runs, 1);
    expect_none(PEER);
}

ALONE(room_exceeded, "a function that writes more than its room is a broken invariant, in a handler and in a task")
{
    start();
    remote_serve(MSG_FILE_POLL, run, room, SIZE, 0);
    remote_serve_task(MSG_EPOLL_WAIT, WORK_LEAF, run, room, SIZE, 0);
    room_is = 40;
    returns[0] = 2001; /* which are not really written */
    ask(PEER, MSG_EPOLL_WAIT, 1, words, SIZE);
    CHECK_PANIC(run_work());
    runs = 0;
    peers_send(PEER, MSG_FILE_POLL, 0, 2, words, SIZE);
    CHECK_PANIC(msg_poll());
    CHECK_EQ(runs, 1);
}

ALONE(task, "an operation of a task is kept, done by a worker with a copy of the request, and answered then")
{
    uint64_t request[2] = {101, 102};

    start();
    remote_serve_task(MSG_EPOLL_WAIT, WORK_LEAF, run, room, SIZE, 0);
    room_is = 2000;
    returns[0] = 2000;
    returns[1] = -EIO;
    ask(PEER, MSG_EPOLL_WAIT, 1, request, SIZE);
    request[0] = 103;
    ask(OTHER, MSG_EPOLL_WAIT, 2, request, SIZE);
    expect_kept(PEER, MSG_EPOLL_WAIT, 1);
    expect_kept(OTHER, MSG_EPOLL_WAIT, 2);
    CHECK(runs == 0 && work_count == 2);
    run_work();
    CHECK(seen.task && seen.kernel == PEER && seen_data[0] == 101 && seen_data[1] == 102 && seen.length == SIZE);
    CHECK(right_bytes(expect_answer(PEER, MSG_EPOLL_WAIT, 1, 2000), 2000));
    cancel(OTHER, MSG_EPOLL_WAIT, 2); /* it is done all the same */
    run_work();
    CHECK(seen.kernel == OTHER && seen_data[0] == 103);
    expect_answer(OTHER, MSG_EPOLL_WAIT, 2, -EIO);
    peers_fail_next(1);
    ask(PEER, MSG_EPOLL_WAIT, 3, request, SIZE);
    expect_answer(PEER, MSG_EPOLL_WAIT, 3, -ENOMEM);
    CHECK(runs == 2 && work_count == 0 && msg_kept_count() == 0);
}

ALONE(either, "a function that may leave its request to a task does so, or answers at once; the task has the same data")
{
    start();
    remote_serve(MSG_FILE_READ, run, room, SIZE, 0);
    room_is = 32;
    ask(PEER, MSG_FILE_READ, 1, words, 24);
    expect_answer(PEER, MSG_FILE_READ, 1, 8);
    for (room_is = 32; room_is <= 3200; room_is *= 100) { /* a slot, or more */
        runs = 0;
        returns[0] = REMOTE_TASK;
        returns[1] = 32;
        ask(PEER, MSG_FILE_READ, 2, words, 24);
        CHECK(runs == 1 && !seen.task && work_count == 1);
        expect_kept(PEER, MSG_FILE_READ, 2);
        run_work();
        CHECK(runs == 2 && seen.task && seen.length == 24 && seen_data[2] == 33);
        expect_answer(PEER, MSG_FILE_READ, 2, 32);
    }
}

ALONE(either_short, "without memory, a worker does an operation for which that is said, one of each peer at a time")
{
    start();
    remote_serve(MSG_FILE_READ, run, NULL, SIZE, 32);
    returns[0] = REMOTE_TASK;
    returns[1] = 32;
    peers_fail_from = peers_allocations + 1;
    peers_fail_to = UINT64_MAX;
    ask(PEER, MSG_FILE_READ, 1, words, 24);
    expect_answer(PEER, MSG_FILE_READ, 1, -ENOMEM);
    remote_serve_short(MSG_FILE_READ, REMOTE_SPARE);
    for (uint32_t id = 2; id < 6; id += 2) {
        runs = 0;
        ask(PEER, MSG_FILE_READ, id, words, 24);
        expect_kept(PEER, MSG_FILE_READ, id);
        CHECK(runs == 1 && !seen.task && work_count == 1);
        runs = 0;
        ask(PEER, MSG_FILE_READ, id + 1, words, 24);
        expect_answer(PEER, MSG_FILE_READ, id + 1, -ENOMEM);
        runs = 1;
        run_work();
        CHECK(runs == 2 && seen.task && seen.length == 24 && seen_data[2] == 33 && work_count == 0);
        expect_answer(PEER, MSG_FILE_READ, id, 32);
    }
    runs = 0; /* another peer's has memory of its own */
    ask(PEER, MSG_FILE_READ, 6, words, 24);
    runs = 0;
    ask(OTHER, MSG_FILE_READ, 7, words, 24);
    expect_kept(PEER, MSG_FILE_READ, 6);
    expect_kept(OTHER, MSG_FILE_READ, 7);
    runs = 1;
    returns[2] = 32;
    run_work();
    run_work();
    peers_fail_to = 0;
    expect_answer(PEER, MSG_FILE_READ, 6, 32);
    expect_answer(OTHER, MSG_FILE_READ, 7, 32);
}

ALONE(either_with, "a task gets the data and the room that the function gives in place of the request's")
{
    start();
    remote_serve(MSG_FILE_READ, run, room, SIZE, 0);
    for (room_is = 32; room_is <= 3200; room_is *= 100) {
        runs = 0;
        task_length = 24;
        returns[0] = REMOTE_TASK;
        other_data[0] = 91;
        ask(PEER, MSG_FILE_READ, 2, words, SIZE);
        other_data[0] = 0; /* it has been copied */
        expect_kept(PEER, MSG_FILE_READ, 2);
        run_work();
        CHECK(runs == 2 && seen.task && seen.kernel == PEER && seen.length == 24);
        CHECK(seen_data[0] == 91 && seen_data[2] == 93);
        expect_answer(PEER, MSG_FILE_READ, 2, 8);
    }
    runs = 0;
    task_length = 0; /* the next request has none of it */
    ask(PEER, MSG_FILE_READ, 3, words, SIZE);
    expect_kept(PEER, MSG_FILE_READ, 3);
    run_work();
    CHECK(seen.length == SIZE && seen_data[0] == 11);
}

ALONE(asks_first, "what only kernel 0 may ask is refused to others with EPROTO, and nothing is done")
{
    static const struct remote_how how = {.why = "test"};
    uint64_t result;

    start();
    remote_serve(MSG_STOP_LOOK, run, NULL, SIZE, 8);
    remote_serve_task(MSG_AUDIT_KERNEL, WORK_LEAF, run, NULL, SIZE, 8);
    ask(OTHER, MSG_STOP_LOOK, 1, words, SIZE);
    expect_answer(OTHER, MSG_STOP_LOOK, 1, -EPROTO);
    ask(OTHER, MSG_AUDIT_KERNEL, 2, words, SIZE);
    expect_answer(OTHER, MSG_AUDIT_KERNEL, 2, -EPROTO);
    CHECK_EQ(remote_call(OWN, MSG_STOP_LOOK, words, SIZE, &result, 8, &how), -EPROTO);
    CHECK(runs == 0 && work_count == 0);
    ask(0, MSG_STOP_LOOK, 3, words, SIZE);
    expect_answer(0, MSG_STOP_LOOK, 3, 8);
    ask(0, MSG_AUDIT_KERNEL, 4, words, SIZE);
    expect_kept(0, MSG_AUDIT_KERNEL, 4);
    run_work();
    expect_answer(0, MSG_AUDIT_KERNEL, 4, 8);
    CHECK_EQ(runs, 2);
}

ALONE(to_first, "what only kernel 0 does is refused by other kernels, for their own tasks too")
{
    static const struct remote_how how = {.why = "test"};
    uint64_t result;

    start();
    remote_serve(MSG_FILE_NAMELESS, run, NULL, SIZE, 8);
    remote_serve(MSG_NAME_OPEN, run, NULL, SIZE, 8);
    ask(PEER, MSG_FILE_NAMELESS, 1, words, SIZE);
    expect_answer(PEER, MSG_FILE_NAMELESS, 1, -EPROTO);
    ask(OTHER, MSG_NAME_OPEN, 2, words, SIZE);
    expect_answer(OTHER, MSG_NAME_OPEN, 2, -EPROTO);
    CHECK_EQ(remote_call(OWN, MSG_FILE_NAMELESS, words, SIZE, &result, 8, &how), -EPROTO);
    CHECK(runs == 0 && work_count == 0);
}

ALONE(lost,
      "a kernel that does not run, or does not exist, is answered with the row's LOST; a running one's errors stay")
{
    static const struct remote_how how = {.why = "test"}, limited = {.why = "test", .timeout = 1000};
    uint64_t result;

    peers_start(3, 1, "");
    CHECK_EQ(remote_call(PEER, MSG_FILE_POLL, words, SIZE, &result, 8, &how), -EAGAIN);
    CHECK_EQ(remote_call(PEER, MSG_FILE_READ, words, SIZE, &result, 8, &how), -ESRCH);
    CHECK_EQ(remote_call(PEER, MSG_FILE_READ, words, SIZE, &result, 8, &limited), -ESRCH);
    CHECK_EQ(remote_ask(PEER, MSG_FILE_READ, words, SIZE, &result, 8, "test", 0), -ESRCH);
    CHECK_EQ(remote_call(KERNELS_MAX, MSG_FILE_READ, words, SIZE, &result, 8, &how), -ESRCH);
    CHECK_EQ(remote_ask_sure(7, MSG_FILE_POLL, words, SIZE, &result, 8, "test", 0), -EAGAIN);
    msg_peer_reach(PEER);
    remote_serve(MSG_FILE_READ, run, NULL, SIZE, 0);
    peers_waiting = answer_call;
    answer_times = 3;
    answer_length = -EAGAIN;
    CHECK_EQ(remote_call(PEER, MSG_FILE_READ, words, SIZE, &result, 8, &how), -EAGAIN);
    answer_length = -EINVAL;
    CHECK_EQ(remote_call(PEER, MSG_FILE_READ, words, SIZE, &result, 8, &how), -EINVAL);
    CHECK_EQ(rank_checks, 2);
    CHECK_EQ(remote_ask(PEER, MSG_FILE_READ, words, SIZE, &result, 8, "test", 0), -EINVAL);
    CHECK(remote_ask(PEER, MSG_FILE_READ, words, SIZE, &result, 8, "test", 0) == 8 && result == 11);
}

/* In a pause. */
static void die_later(void)
{
    peers_dying = pauses == 3;
}

ALONE(no_memory,
      "ENOMEM of the server or of this kernel is returned at once, or, when it is sure, tried again up to its bound")
{
    static const struct remote_how how = {.why = "test"}, sure = {.why = "test", .sure = true};
    static const struct remote_how killable = {.why = "test", .sure = true, .end = WAIT_KILLABLE};
    uint64_t result;

    start();
    remote_serve(MSG_FILE_READ, run, NULL, SIZE, 0);
    peers_waiting = answer_call;
    answer_length = -ENOMEM;
    answer_times = 1;
    peers_fail_next(1); /* the table of requests has no slot yet */
    CHECK_EQ(remote_call(PEER, MSG_FILE_READ, words, SIZE, &result, 8, &how), -ENOMEM);
    CHECK_EQ(asked_times, 0);
    peers_fail_next(2);
    CHECK_EQ(remote_call(PEER, MSG_FILE_READ, words, SIZE, &result, 8, &sure), 8);
    CHECK(pauses == 3 && asked_times == 2); /* twice for the slot, once for the server */
    asked_times = pauses = 0;
    CHECK_EQ(remote_call(PEER, MSG_FILE_READ, words, SIZE, &result, 8, &how), -ENOMEM);
    CHECK(pauses == 0 && asked_times == 1);
    asked_times = 0;
    answer_times = 5;
    CHECK_EQ(remote_ask_sure(PEER, MSG_FILE_READ, words, SIZE, &result, 8, "test", 0), 8);
    CHECK(asked_times == 6 && pauses == 4); /* the first time by the fast path */
    asked_times = pauses = 0;
    answer_times = UINT32_MAX;
    CHECK_EQ(remote_call(PEER, MSG_FILE_READ, words, SIZE, &result, 8, &sure), -ENOMEM);
    CHECK(asked_times == REMOTE_TRIES && pauses == REMOTE_TRIES - 1);
    asked_times = pauses = 0;
    pausing = die_later;
    CHECK_EQ(remote_call(PEER, MSG_FILE_READ, words, SIZE, &result, 8, &killable), -ENOMEM);
    CHECK(asked_times == 3 && pauses == 3);
}

ALONE(no_memory_here, "a task of the kernel that serves tries again too, if it is sure")
{
    static const struct remote_how how = {.why = "test"}, sure = {.why = "test", .sure = true};
    uint64_t result;

    start();
    remote_serve(MSG_FUTEX_LEAVE, run, NULL, SIZE, 8);
    returns[0] = returns[1] = returns[2] = -ENOMEM;
    CHECK_EQ(remote_call(OWN, MSG_FUTEX_LEAVE, words, SIZE, &result, 8, &how), -ENOMEM);
    CHECK(runs == 1 && pauses == 0);
    CHECK_EQ(remote_call(OWN, MSG_FUTEX_LEAVE, words, SIZE, &result, 8, &sure), 8);
    CHECK(runs == 4 && pauses == 2);
    returns[3] = -ENOMEM;
    runs = 3;
    pauses = 0;
    CHECK_EQ(remote_call(OWN, MSG_FUTEX_LEAVE, words, SIZE, &result, 8, &sure), -ENOMEM);
    CHECK_EQ(runs, 3 + REMOTE_TRIES);
}
