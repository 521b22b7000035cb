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
#include "mm/frame/heap.h"
#include "msg/call.h"
#include "msg/channel.h"
#include "tasks/remote/work.h"
#include "tasks/sched/sched.h"

/* [i] */
static struct service {
    remote_run run; /* NULL: nobody serves this type */
    remote_room room;
    uint32_t result_size;
} services[MSG_TYPES];

/* An operation whose result does not fit into one slot, or that a task does. */
struct job {
    struct work work;
    struct msg_kept kept;
    struct remote_request request;
    uint32_t size;      /* of this object */
    void *result;       /* behind the request's data */
    uint64_t payload[]; /* the request's data, if a task does it */
};

static uint32_t words(uint32_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

/* What REQUEST's result may take, or a negative errno: it is refused. */
static int room_for(const struct remote_request *request)
{
    const struct msg_kind *kind = &msg_kinds[request->type];
    const struct service *service = &services[request->type];

    if ((kind->asks == MSG_ASKS_FIRST && request->kernel != 0) || (kind->asks == MSG_TO_FIRST && instance.kernel != 0))
        return -EPROTO;
    return service->room != NULL ? service->room(request) : (int)service->result_size;
}

static void job_done(struct msg_kept *kept)
{
    struct job *job = container_of(kept, struct job, kept);

    heap_free(job, job->size);
}

static void job_answer(struct job *job, int length)
{
    if (length < 0)
        msg_kept_reply_error(&job->kept, length, job_done);
    else
        msg_kept_reply_long(&job->kept, job->result, (uint32_t)length, job_done);
}

static void run_job(struct work *work)
{
    struct job *job = container_of(work, struct job, work);

    job_answer(job, services[job->request.type].run(&job->request, job->result));
}

/* The request is kept; NULL: there was no memory, and M is answered. */
static struct job *keep(const struct msg *m, const struct remote_request *request, uint32_t room)
{
    uint32_t before = (uint32_t)sizeof(struct job) + words(request->length);
    struct job *job = heap_alloc_unset(before + room);

    if (job == NULL) {
        msg_reply_error(&m->ticket, -ENOMEM);
        return NULL;
    }
    memset(job, 0, sizeof(*job));
    job->request = *request;
    job->size = before + room;
    job->result = (uint8_t *)job + before;
    memcpy(job->payload, request->data, request->length);
    job->request.data = job->payload;
    msg_keep(m, &job->kept, NULL);
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

/* The handler does it, and the result may be longer than a slot. */
static __attribute__((noinline)) void serve_long(const struct msg *m, const struct remote_request *request,
                                                 uint32_t room)
{
    uint8_t *result = heap_alloc_unset(sizeof(struct job) + room);
    struct job *job = (struct job *)(void *)result;
    int length;

    if (job == NULL) {
        msg_reply_error(&m->ticket, -ENOMEM);
        return;
    }
    memset(job, 0, sizeof(*job));
    job->size = (uint32_t)sizeof(*job) + room;
    job->result = result + sizeof(*job);
    length = services[request->type].run(request, job->result);
    if (length > (int)MSG_SHORT && length != REMOTE_TASK) {
        msg_keep(m, &job->kept, NULL);
        job_answer(job, length);
        return;
    }
    if (length == REMOTE_TASK)
        serve_by_task(m, request, room);
    else if (length < 0)
        msg_reply_error(&m->ticket, length);
    else
        msg_reply(&m->ticket, job->result, (uint32_t)length);
    heap_free(job, job->size);
}

static void handle(const struct msg *m)
{
    const struct remote_request request = {
        .type = m->ticket.type, .kernel = m->ticket.kernel, .length = m->length, .data = m->data};
    uint64_t result[MSG_SHORT / 8];
    int room = room_for(&request), length = room;

    if (room >= 0 && msg_kinds[request.type].runs == MSG_RUNS_TASK) {
        serve_by_task(m, &request, (uint32_t)room);
        return;
    }
    if (room > (int)MSG_SHORT) {
        serve_long(m, &request, (uint32_t)room);
        return;
    }
    if (room >= 0)
        length = services[request.type].run(&request, result);
    if (length == REMOTE_TASK)
        serve_by_task(m, &request, (uint32_t)room);
    else if (length < 0)
        msg_reply_error(&m->ticket, length);
    else
        msg_reply(&m->ticket, result, (uint32_t)length);
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
    assert(msg_kinds[type].runs != MSG_RUNS_OTHER && services[type].run == NULL);
    services[type] = (struct service){.run = run, .room = room, .result_size = result_size};
    msg_register(type, is_short(type) ? handle_short : handle, size, result_size);
}

/* For a task of this kernel. */
static int run_here(enum msg_type type, const void *data, uint32_t length, void *result, uint32_t room)
{
    const struct remote_request request = {
        .type = type, .kernel = instance.kernel, .task = true, .length = length, .data = data};
    int needed = room_for(&request);

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
        if (kernel == instance.kernel)
            answer = run_here(type, data, length, result, room);
        else if (how->end == WAIT_FIRM && how->timeout == 0 && !how->sure)
            answer = msg_call(kernel, type, data, length, result, room, how->why, how->key);
        else
            answer = msg_call_within(&policy, kernel, type, data, length, result, room, how->why, how->key);
    } while (answer == -ENOMEM && how->sure && ++tries < REMOTE_TRIES && pause(how, kernel));
    return answer >= 0 || kernel == instance.kernel ? answer : remote_lost(kernel, type, answer);
}
