/* What the tests of tasks/remote share: the message layer among simulated peers (tests/msg/layer.h), workers that do
 * what was submitted when the test says so, a task whose pauses pass at once, and a heap that can be empty. Included
 * once. */
#ifndef TESTS_TASKS_REMOTE_REMOTE_H
#define TESTS_TASKS_REMOTE_REMOTE_H

#include "tests/msg/layer.h"

#include "msg/quiet.h"
#include "tasks/remote/operation.h"
#include "tasks/remote/work.h"
#include "tests/stand_in/heap.h"

#define WORKS 16u

static struct work *works[WORKS];
static uint32_t work_count;

static uint32_t rank_checks;

void work_waits_for(enum work_rank rank, const char *what)
{
    (void)rank;
    (void)what;
    rank_checks++;
}

void work_submit(struct work *work)
{
    CHECK(work_count < WORKS);
    works[work_count++] = work;
}

/* A worker does the first item. */
__attribute__((unused)) static void run_work(void)
{
    struct work *work = works[0];

    CHECK(work_count > 0);
    memmove(works, works + 1, --work_count * sizeof(works[0]));
    work->run(work);
}

static uint32_t pauses;
static void (*pausing)(void); /* what happens in a pause, or NULL */

/* Of tasks/sched/sched.h, which does not go with the C library's headers. */
void sched_block(struct spinlock *lock, const struct wait_reason *reason, enum wait_end end, uint64_t deadline);
void sched_block(struct spinlock *lock, const struct wait_reason *reason, enum wait_end end, uint64_t deadline)
{
    (void)reason;
    (void)end;
    CHECK(lock == NULL && deadline != 0);
    pauses++;
    if (pausing != NULL)
        pausing();
    if (clock_now() < deadline)
        peers_pass(deadline - clock_now());
}

/* KERNEL asks for TYPE under REQUEST, with the first LENGTH bytes of BYTES. */
__attribute__((unused)) static void ask(uint32_t kernel, uint32_t type, uint16_t request, const void *bytes,
                                        uint32_t length)
{
    peers_send(kernel, type, 0, request, bytes, length);
    msg_poll();
}

/* The next message to KERNEL is an answer to REQUEST. */
static const struct peers_message *take_answer(uint32_t kernel, uint32_t type, uint16_t request)
{
    const struct peers_message *m = peers_take(kernel, peers_class(type));

    CHECK(m != NULL && m->reply && m->type == type && m->request == request);
    return m;
}

/* It is LENGTH bytes, or the error LENGTH. */
static const uint8_t *expect_answer(uint32_t kernel, uint32_t type, uint16_t request, int length)
{
    const struct peers_message *m = take_answer(kernel, type, request);
    int64_t error;

    CHECK(!m->kept);
    if (length >= 0) {
        CHECK(!m->error);
        CHECK_EQ(m->length, length);
        return m->data;
    }
    CHECK(m->error);
    memcpy(&error, m->data, sizeof(error));
    CHECK_EQ(error, length);
    return NULL;
}

__attribute__((unused)) static void expect_kept(uint32_t kernel, uint32_t type, uint16_t request)
{
    CHECK(take_answer(kernel, type, request)->kept);
}

__attribute__((unused)) static void expect_none(uint32_t kernel)
{
    CHECK(peers_take(kernel, MSG_ORDINARY) == NULL && peers_take(kernel, MSG_URGENT) == NULL);
}

__attribute__((unused)) static void cancel(uint32_t kernel, uint32_t type, uint16_t request)
{
    struct msg_cancel message = {.request = request, .type = (uint16_t)type};

    peers_send(kernel, MSG_CANCEL, 0, 0, &message, sizeof(message));
    msg_poll();
}

/* While the task waits, PEER answers its requests: with ANSWER_LENGTH bytes of `words`, or that error, the first
 * ANSWER_TIMES times, and then with 8 bytes. */
static int answer_length;
static uint32_t answer_times, asked_times;

__attribute__((unused)) static void answer_call(const struct wait_reason *reason)
{
    (void)reason;
    for (const struct peers_message *m; (m = peers_take(PEER, MSG_ORDINARY)) != NULL;) {
        int length = asked_times++ < answer_times ? answer_length : 8;
        int64_t error = length;

        if (length < 0)
            peers_send(PEER, m->type, PEERS_REPLY | PEERS_ERROR, m->request, &error, sizeof(error));
        else
            peers_send(PEER, m->type, PEERS_REPLY, m->request, words, (uint32_t)length);
    }
    peers_signal(PEER);
    msg_poll();
}

#endif
