/* Operations that one kernel does for another. See the header and tasks/remote/remote.md.
 *
 * An operation of a task is done by a worker of the kernel that is asked, in the order in which workers are free; one
 * of a handler is done in the order of messages. */
#include "tasks/remote/operation.h"

#include <stddef.h>

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/list.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "msg/call.h"
#include "msg/channel.h"
#include "msg/long_answer.h"
#include "tasks/remote/work.h"
#include "tasks/sched/sched.h"

/* [i] */
static struct service {
    remote_run run; /* NULL: nobody serves this type */
    remote_room room;
    uint32_t result_size;
    bool careful; /* the handler may not be to do it: a task does it, or only kernel 0 may ask */
} services[MSG_TYPES];

/* An operation whose result does not fit into one slot, or that a task does. */
struct job {
    struct long_answer answer;
    struct work work;
    struct remote_request request;
    void *result;       /* behind the request's data */
    uint64_t payload[]; /* the request's data, if a task does it */
};

/* [k] rx_lock: of the handler that runs; NULL: the request's own data */
static struct instead {
    const void *data;
    uint32_t length, room;
} instead;

int remote_task_with(const void *data, uint32_t length, uint32_t room)
{
    instead = (struct instead){data, length, room};
    return REMOTE_TASK;
}

static uint32_t words(uint32_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

/* In place of the function of an operation that only kernel 0 does, on others. */
static int refuse(const struct remote_request *request, void *result)
{
    (void)request;
    (void)result;
    return -EPROTO;
}

static bool is_refused(const struct remote_request *request)
{
    return msg_kinds[request->type].asks == MSG_ASKS_FIRST && request->kernel != 0;
}

/* What REQUEST's result may take, or a negative errno: it is refused. */
static inline int room_for(const struct service *service, const struct remote_request *request)
{
    return service->room != NULL ? service->room(request) : (int)service->result_size;
}

static void run_job(struct work *work)
{
    struct job *job = container_of(work, struct job, work);

    long_answer_give(&job->answer, job->result, services[job->request.type].run(&job->request, job->result));
}

/* The request is kept; NULL: there was no memory, and M is answered. */
static struct job *keep(const struct msg *m, const struct remote_request *request, uint32_t room)
{
    uint32_t before = (uint32_t)sizeof(struct job) + words(request->length);
    struct job *job = long_answer_create(before + room);

    if (job == NULL) {
        msg_reply_error(&m->ticket, -ENOMEM);
        return NULL;
    }
    job->request = *request;
    job->result = (uint8_t *)job + before;
    memcpy(job->payload, request->data, request->length);
    job->request.data = job->payload;
    long_answer_keep(m, &job->answer);
    return job;
}

/* A task does it. */
static __attribute__((noinline)) void serve_by_task(const struct msg *m, const struct remote_request *request,
                                                    uint32_t room)
{
    struct job *job = keep(m, request, room);

    if (job == NULL)
        return;
    job->request.task = true;
    job->work.run = run_job;
    work_submit(&job->work);
}

/* The handler's function has said REMOTE_TASK, perhaps with other data. */
static void serve_by_task_after_all(const struct msg *m, const struct remote_request *request, uint32_t room)
{
    struct remote_request own = *request;

    if (instead.data != NULL) {
        own.data = instead.data;
        own.length = instead.length;
        room = instead.room;
        instead.data = NULL;
    }
    serve_by_task(m, &own, room);
}

/* The handler does it, and the result may be longer than a slot. */
static __attribute__((noinline)) void serve_long(const struct msg *m, const struct remote_request *request,
                                                 uint32_t room)
{
    struct long_answer *answer = long_answer_create((uint32_t)sizeof(*answer) + room);
    int length;

    if (answer == NULL) {
        msg_reply_error(&m->ticket, -ENOMEM);
        return;
    }
    length = services[request->type].run(request, answer + 1);
    if (length > (int)MSG_SHORT && length != REMOTE_TASK) {
        long_answer_send(m, answer, answer + 1, (uint32_t)length);
        return;
    }
    if (length == REMOTE_TASK)
        serve_by_task_after_all(m, request, room);
    else if (length < 0)
        msg_reply_error(&m->ticket, length);
    else
        msg_reply(&m->ticket, answer + 1, (uint32_t)length);
    long_answer_free(answer);
}

static __attribute__((noinline)) bool is_for_handler(const struct remote_request *request)
{
    return msg_kinds[request->type].runs < MSG_RUNS_TASK && !is_refused(request);
}

/* All but the handler's fast path. LENGTH: what the function has said, REMOTE_TASK or an error; 0: it was not called.
 */
static __attribute__((noinline)) void handle_slowly(const struct msg *m, const struct remote_request *request,
                                                    int length)
{
    const struct service *service = &services[request->type];
    int room = length < 0 ? length : is_refused(request) ? -EPROTO : room_for(service, request);

    if (room < 0)
        msg_reply_error(&m->ticket, room);
    else if (length == REMOTE_TASK)
        serve_by_task_after_all(m, request, (uint32_t)room);
    else if (msg_kinds[request->type].runs >= MSG_RUNS_TASK)
        serve_by_task(m, request, (uint32_t)room);
    else
        serve_long(m, request, (uint32_t)room);
}

static void handle(const struct msg *m)
{
    const struct remote_request request = {
        .type = m->ticket.type, .kernel = m->ticket.kernel, .length = m->length, .data = m->data};
    const struct service *service = &services[request.type];
    uint64_t result[MSG_SHORT / 8];
    int length = 0;

    if ((!service->careful || is_for_handler(&request)) && (uint32_t)room_for(service, &request) <= MSG_SHORT) {
        length = service->run(&request, result);
        if ((uint32_t)length <= MSG_SHORT) {
            msg_reply(&m->ticket, result, (uint32_t)length);
            return;
        }
    }
    handle_slowly(m, &request, length);
}

/* The same of an operation that any kernel may ask, and whose function never waits and has a result of one slot. */
static void handle_short(const struct msg *m)
{
    const struct remote_request request = {
        .type = m->ticket.type, .kernel = m->ticket.kernel, .length = m->length, .data = m->data};
    uint64_t result[MSG_SHORT / 8];
    int length = services[request.type].run(&request, result);

    if (length < 0)
        msg_reply_error(&m->ticket, length);
    else
        msg_reply(&m->ticket, result, (uint32_t)length);
}

static bool is_short(enum msg_type type)
{
    return msg_kinds[type].runs == MSG_RUNS_HANDLER && msg_kinds[type].asks == MSG_ASKS_ANY &&
           services[type].room == NULL && services[type].result_size <= MSG_SHORT;
}

void remote_serve(enum msg_type type, remote_run run, remote_room room, uint32_t size, uint32_t result_size)
{
    const struct msg_kind *kind = &msg_kinds[type];

    assert(kind->runs != MSG_RUNS_OTHER && services[type].run == NULL);
    if (kind->asks == MSG_TO_FIRST && instance.kernel != 0)
        services[type] = (struct service){.run = refuse};
    else
        services[type] = (struct service){.run = run,
                                          .room = room,
                                          .result_size = result_size,
                                          .careful = kind->runs >= MSG_RUNS_TASK || kind->asks == MSG_ASKS_FIRST};
    msg_register(type, is_short(type) ? handle_short : handle, size, result_size);
}

/* For a task of this kernel. */
static int run_here(enum msg_type type, const void *data, uint32_t length, void *result, uint32_t room)
{
    const struct remote_request request = {
        .type = type, .kernel = instance.kernel, .task = true, .length = length, .data = data};
    int needed = is_refused(&request) ? -EPROTO : room_for(&services[type], &request);

    if (needed < 0)
        return needed;
    return needed <= (int)room ? services[type].run(&request, result) : -EMSGSIZE;
}

/* Waits a moment for memory. False: the task is not to go on. */
static bool pause(const struct remote_how *how, uint32_t kernel)
{
    struct wait_reason reason = {.what = "memory to ask", .kernel = (int32_t)kernel, .key = how->key};

    msg_poll(); /* an answer gives some back */
    sched_block(NULL, &reason, how->end, clock_now() + REMOTE_PAUSE);
    return !wait_ops.ended(how->end);
}

int remote_lost(uint32_t kernel, enum msg_type type, int error)
{
    if ((error == -EAGAIN || error == -EINVAL) && !msg_peer_reachable(kernel))
        return -(int)msg_kinds[type].lost;
    return error;
}

int remote_call(uint32_t kernel, enum msg_type type, const void *data, uint32_t length, void *result, uint32_t room,
                const struct remote_how *how)
{
    struct msg_policy policy = {.timeout = how->timeout, .end = how->end, .sure = how->sure};
    uint32_t tries = 0;
    int answer;

    do {
        if (kernel == instance.kernel && msg_kinds[type].runs != MSG_RUNS_WORKER)
            answer = run_here(type, data, length, result, room);
        else if (how->end == WAIT_FIRM && how->timeout == 0 && !how->sure && kernel != instance.kernel)
            answer = msg_call(kernel, type, data, length, result, room, how->why, how->key);
        else
            answer = msg_call_within(&policy, kernel, type, data, length, result, room, how->why, how->key);
    } while (answer == -ENOMEM && how->sure && ++tries < REMOTE_TRIES && pause(how, kernel));
    return answer >= 0 || kernel == instance.kernel ? answer : remote_lost(kernel, type, answer);
}
