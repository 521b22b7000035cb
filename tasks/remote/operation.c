/* Operations that one kernel does for another. See the header and tasks/remote/remote.md.
 *
 * An operation of a handler is done in the order in which requests arrive. An operation of a task is done by a worker
 * of the kernel that is asked; workers begin requests in the order of their arrival. */
#include "tasks/remote/operation.h"

#include <stddef.h>

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/list.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "msg/request/long_answer.h"
#include "msg/slice.h"
#include "tasks/remote/work.h"
#include "tasks/sched/sched.h"

/* [i] */
static struct service {
    remote_run run; /* NULL: nobody serves this type */
    remote_room room;
    uint32_t result_size;
    enum work_rank rank; /* of a worker that serves it */
    bool careful;        /* the handler has to look at the row: a task does it, or only kernel 0 may ask for it */
    enum remote_short short_of_memory;
} services[MSG_TYPES];

/* A request that a task serves. */
struct job {
    struct long_answer answer;
    struct work work;
    struct remote_request request; /* its data are PAYLOAD */
    void *result;                  /* behind the request's data */
    uint32_t room;                 /* bytes at RESULT */
    uint64_t payload[];
};

/* A job of REMOTE_SPARE. */
struct spare {
    struct msg_kept kept;
    struct work work;
    struct remote_request request; /* its data are PAYLOAD */
    uint64_t payload[REMOTE_SPARE_SIZE / 8];
    uint64_t result[MSG_SHORT / 8];
    bool taken; /* [a] set by the handler, of which there is one at a time; cleared when the answer has gone */
};

static struct spare spares[KERNELS_MAX]; /* by the kernel that asks */

/* A request in its handler. Only the request itself is set at first; the rest is set by those who use it. */
struct handling {
    struct remote_request request;
    const struct msg *m;             /* the message */
    const void *task_data;           /* set by remote_task_with, as are the next two */
    uint32_t task_length, task_room; /* bytes */
};

/* The value of remote_task_with. */
#define TASK_WITH (INT32_MAX - 2)

int remote_task_with(const struct remote_request *request, const void *data, uint32_t length, uint32_t room)
{
    struct handling *handling = container_of(request, struct handling, request);

    assert(!request->task);
    handling->task_data = data;
    handling->task_length = length;
    handling->task_room = room;
    return TASK_WITH;
}

static uint32_t words(uint32_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

/* Serves, on other kernels, the operations that only kernel 0 does. */
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

/* The most room that the result of REQUEST can take, or a negative errno that refuses the request. */
static inline int room_for(const struct service *service, const struct remote_request *request)
{
    return service->room != NULL ? service->room(request) : (int)service->result_size;
}

static void run_job(struct work *work)
{
    struct job *job = container_of(work, struct job, work);
    int length = services[job->request.type].run(&job->request, job->result);

    assert(length <= (int)job->room);
    long_answer_give(&job->answer, job->result, length);
}

static void spare_gone(struct msg_kept *kept)
{
    __atomic_store_n(&container_of(kept, struct spare, kept)->taken, false, __ATOMIC_RELEASE);
}

static void run_spare(struct work *work)
{
    struct spare *spare = container_of(work, struct spare, work);
    int length = services[spare->request.type].run(&spare->request, spare->result);

    if (length < 0)
        msg_kept_reply_error(&spare->kept, length, spare_gone);
    else
        msg_kept_reply(&spare->kept, spare->result, (uint32_t)length, spare_gone);
}

/* There is no memory for a worker's job that would serve REQUEST with LENGTH bytes at DATA as its data. */
static void serve_without(const struct msg *m, const struct remote_request *request, const void *data, uint32_t length)
{
    struct spare *spare = &spares[request->kernel];

    if (services[request->type].short_of_memory != REMOTE_SPARE || length > sizeof(spare->payload) ||
        __atomic_load_n(&spare->taken, __ATOMIC_ACQUIRE)) {
        msg_reply_error(&m->ticket, -ENOMEM);
        return;
    }
    spare->taken = true;
    spare->request = (struct remote_request){
        .type = request->type, .kernel = request->kernel, .task = true, .length = length, .data = spare->payload};
    memcpy(spare->payload, data, length);
    msg_keep(m, &spare->kept, NULL);
    spare->work = (struct work){.run = run_spare, .rank = services[request->type].rank};
    work_submit(&spare->work);
}

/* Has a task serve REQUEST with LENGTH bytes at DATA as its data, which are copied. */
static __attribute__((noinline)) void serve_by_task(const struct msg *m, const struct remote_request *request,
                                                    const void *data, uint32_t length, uint32_t room)
{
    uint32_t before = (uint32_t)sizeof(struct job) + words(length);
    bool sure = services[request->type].short_of_memory == REMOTE_RESERVE &&
                (instance.kernel == 0 || request->kernel == 0);
    struct job *job = sure ? long_answer_create_sure(before + room) : long_answer_create(before + room);

    if (job == NULL) {
        serve_without(m, request, data, length);
        return;
    }
    job->request = (struct remote_request){
        .type = request->type, .kernel = request->kernel, .task = true, .length = length, .data = job->payload};
    job->result = (uint8_t *)job + before;
    job->room = room;
    memcpy(job->payload, data, length);
    long_answer_keep(m, &job->answer);
    job->work.run = run_job;
    job->work.rank = services[request->type].rank;
    work_submit(&job->work);
}

static bool is_for_task(int length)
{
    return length == REMOTE_TASK || length == TASK_WITH;
}

/* The function has left the request to a task by returning LENGTH: REMOTE_TASK, or TASK_WITH with other data. */
static void serve_by_task_after_all(const struct msg *m, const struct handling *handling, int length, uint32_t room)
{
    const struct remote_request *request = &handling->request;

    if (length == TASK_WITH)
        serve_by_task(m, request, handling->task_data, handling->task_length, handling->task_room);
    else
        serve_by_task(m, request, request->data, request->length, room);
}

/* Serves a request in the handler when the result may be longer than a slot. */
static __attribute__((noinline)) void serve_long(const struct msg *m, const struct handling *handling, uint32_t room)
{
    struct long_answer *answer = long_answer_create((uint32_t)sizeof(*answer) + room);
    const struct remote_request *request = &handling->request;
    int length;

    if (answer == NULL) {
        msg_reply_error(&m->ticket, -ENOMEM);
        return;
    }
    length = services[request->type].run(request, answer + 1);
    assert(length <= (int)room || is_for_task(length) || length == REMOTE_KEPT);
    if (length > (int)MSG_SHORT && !is_for_task(length) && length != REMOTE_KEPT) {
        long_answer_send(m, answer, answer + 1, (uint32_t)length);
        return;
    }
    if (is_for_task(length))
        serve_by_task_after_all(m, handling, length, room);
    else if (length < 0)
        msg_reply_error(&m->ticket, length);
    else if (length != REMOTE_KEPT)
        msg_reply(&m->ticket, answer + 1, (uint32_t)length);
    long_answer_free(answer);
}

static inline bool is_for_handler(const struct remote_request *request)
{
    return msg_kinds[request->type].runs < MSG_RUNS_TASK && !is_refused(request);
}

/* Serves the requests that are not for the handler's fast path. LENGTH is the value that the function has returned, an
 * error, or one that leaves the request to a task or to an event; 0: the function was not called. */
static __attribute__((noinline)) void handle_slowly(const struct msg *m, const struct handling *handling, int length)
{
    const struct remote_request *request = &handling->request;
    const struct service *service = &services[request->type];
    int room = length < 0 ? length : is_refused(request) ? -EPROTO : room_for(service, request);

    if (length == REMOTE_KEPT)
        return;
    if (room < 0) {
        msg_reply_error(&m->ticket, room);
    } else if (length != 0) {
        assert(is_for_task(length)); /* else the function has written more than its room */
        serve_by_task_after_all(m, handling, length, (uint32_t)room);
    } else if (msg_kinds[request->type].runs >= MSG_RUNS_TASK) {
        serve_by_task(m, request, request->data, request->length, (uint32_t)room);
    } else {
        serve_long(m, handling, (uint32_t)room);
    }
}

/* Answers with the LENGTH bytes of a result that fits into a slot, or with the error LENGTH. */
static inline void answer_now(const struct msg *m, const void *result, int length)
{
    if (length < 0)
        msg_reply_error(&m->ticket, length);
    else
        msg_reply(&m->ticket, result, (uint32_t)length);
}

static void handle(const struct msg *m)
{
    struct handling handling;
    const struct remote_request *request = &handling.request;
    const struct service *service;
    uint64_t result[MSG_SHORT / 8];
    int length = 0;

    handling.request = (struct remote_request){
        .type = m->ticket.type, .kernel = m->ticket.kernel, .length = m->length, .data = m->data};
    handling.m = m;
    service = &services[request->type];
    if ((!service->careful || is_for_handler(request)) && (uint32_t)room_for(service, request) <= MSG_SHORT) {
        length = service->run(request, result);
        if ((uint32_t)length <= MSG_SHORT) {
            msg_reply(&m->ticket, result, (uint32_t)length);
            return;
        }
    }
    handle_slowly(m, &handling, length);
}

/* Handles an operation that any kernel may ask for, whose function never waits, and whose result fits into a slot. */
static void handle_short(const struct msg *m)
{
    const struct remote_request request = {
        .type = m->ticket.type, .kernel = m->ticket.kernel, .length = m->length, .data = m->data};
    uint64_t result[MSG_SHORT / 8];
    int length = services[request.type].run(&request, result);

    answer_now(m, result, length);
}

/* Handles an operation whose function may keep the request. A task that asks its own kernel runs this handler too. */
static void handle_kept(const struct msg *m)
{
    struct handling handling;
    const struct remote_request *request = &handling.request;
    const struct service *service;
    uint64_t result[MSG_SHORT / 8];
    int length;

    handling.request = (struct remote_request){
        .type = m->ticket.type, .kernel = m->ticket.kernel, .length = m->length, .data = m->data};
    handling.m = m;
    service = &services[request->type];
    length = service->careful && is_refused(request) ? -EPROTO : service->run(request, result);
    if (length != REMOTE_KEPT)
        answer_now(m, result, length);
}

/* The answer to KEPT has gone, or the worker has called its cancel: there is one user less. */
static inline void let_go(struct remote_kept *kept)
{
    if (__atomic_sub_fetch(&kept->users, 1, __ATOMIC_ACQ_REL) == 0)
        kept->done(kept);
}

static void run_cancel(struct work *work)
{
    struct remote_kept *kept = container_of(work, struct remote_kept, work);

    kept->cancel(kept);
    let_go(kept);
}

/* Called under the lock of kept requests while the request is among them. An answer takes it out of them first, so the
 * user that answers is still counted. */
static void cancelled(struct msg_kept *msg_kept)
{
    struct remote_kept *kept = container_of(msg_kept, struct remote_kept, kept);

    if (kept->cancelled)
        return;
    kept->cancelled = true;
    __atomic_add_fetch(&kept->users, 1, __ATOMIC_RELAXED);
    work_submit(&kept->work);
}

int remote_keep(const struct remote_request *request, struct remote_kept *kept,
                void (*cancel)(struct remote_kept *kept), void (*done)(struct remote_kept *kept))
{
    const struct handling *handling = container_of(request, struct handling, request);

    assert(!request->task &&
           (msg_kinds[request->type].runs == MSG_RUNS_KEPT || msg_kinds[request->type].runs == MSG_RUNS_EITHER));
    kept->work.run = run_cancel;
    kept->cancelled = false;
    kept->users = 1;
    kept->cancel = cancel;
    kept->done = done;
    msg_keep(handling->m, &kept->kept, cancelled);
    return REMOTE_KEPT;
}

void remote_answered(struct msg_kept *kept)
{
    let_go(container_of(kept, struct remote_kept, kept));
}

static msg_handler handler_of(enum msg_type type)
{
    const struct msg_kind *kind = &msg_kinds[type];

    if (kind->runs == MSG_RUNS_KEPT)
        return handle_kept;
    if (kind->runs == MSG_RUNS_HANDLER && kind->asks == MSG_ASKS_ANY && services[type].room == NULL &&
        services[type].result_size <= MSG_SHORT)
        return handle_short;
    return handle;
}

static void serve(enum msg_type type, enum work_rank rank, remote_run run, remote_room room, uint32_t size,
                  uint32_t result_size)
{
    const struct msg_kind *kind = &msg_kinds[type];

    assert(kind->runs != MSG_RUNS_OTHER && services[type].run == NULL);
    assert(kind->runs != MSG_RUNS_KEPT || (room == NULL && result_size <= MSG_SHORT));
    if (kind->asks == MSG_TO_FIRST && instance.kernel != 0)
        services[type] = (struct service){.run = refuse, .rank = rank};
    else
        services[type] = (struct service){.run = run,
                                          .room = room,
                                          .result_size = result_size,
                                          .rank = rank,
                                          .careful = kind->runs == MSG_RUNS_TASK || kind->runs == MSG_RUNS_WORKER ||
                                                     kind->asks == MSG_ASKS_FIRST};
    msg_register(type, handler_of(type), size, result_size);
}

void remote_serve(enum msg_type type, remote_run run, remote_room room, uint32_t size, uint32_t result_size)
{
    assert(msg_kinds[type].runs != MSG_RUNS_TASK && msg_kinds[type].runs != MSG_RUNS_WORKER);
    serve(type, WORK_FILES, run, room, size, result_size);
}

void remote_serve_task(enum msg_type type, enum work_rank rank, remote_run run, remote_room room, uint32_t size,
                       uint32_t result_size)
{
    assert(msg_kinds[type].runs == MSG_RUNS_EITHER || msg_kinds[type].runs == MSG_RUNS_TASK ||
           msg_kinds[type].runs == MSG_RUNS_WORKER);
    serve(type, rank, run, room, size, result_size);
}

void remote_serve_short(enum msg_type type, enum remote_short how)
{
    assert(services[type].run != NULL);
    assert(how != REMOTE_SPARE || (services[type].room == NULL && services[type].result_size <= MSG_SHORT));
    services[type].short_of_memory = how;
}

/* Serves a task of this kernel. */
static int run_here(enum msg_type type, const void *data, uint32_t length, void *result, uint32_t room)
{
    const struct remote_request request = {
        .type = type, .kernel = instance.kernel, .task = true, .length = length, .data = data};
    int needed = is_refused(&request) ? -EPROTO : room_for(&services[type], &request);

    if (needed < 0)
        return needed;
    return needed <= (int)room ? services[type].run(&request, result) : -EMSGSIZE;
}

/* Waits REMOTE_PAUSE for memory. False: a condition of HOW->end ends the call. */
static bool pause(const struct remote_how *how, uint32_t kernel)
{
    struct wait_reason reason = {.what = "memory to ask", .kernel = (int32_t)kernel, .key = how->key};

    slice_pause(); /* an answer gives memory back */
    sched_block(NULL, &reason, how->end, clock_now() + REMOTE_PAUSE);
    return !wait_ops.ended(how->end);
}

int remote_lost(uint32_t kernel, enum msg_type type, int error)
{
    if (error == -EHOSTDOWN || ((error == -EAGAIN || error == -EINVAL) && !msg_peer_reachable(kernel)))
        return -(int)msg_kinds[type].lost;
    return error;
}

/* A worker serves TYPE, or may serve it. Not of CONTROL: kernel 0, where its rank is another one, asks the others. */
static void check_rank(uint32_t kernel, enum msg_type type, const char *why)
{
    enum msg_runs runs = msg_kinds[type].runs;

    if (services[type].run != NULL && type != MSG_CONTROL &&
        (runs == MSG_RUNS_WORKER || (kernel != instance.kernel && (runs == MSG_RUNS_TASK || runs == MSG_RUNS_EITHER))))
        work_waits_for(services[type].rank, why);
}

/* One try of remote_call. */
static inline __attribute__((always_inline)) int call_once(uint32_t kernel, enum msg_type type, const void *data,
                                                           uint32_t length, void *result, uint32_t room,
                                                           const struct remote_how *how, bool sure)
{
    int answer;

    if (kernel == instance.kernel && msg_kinds[type].runs < MSG_RUNS_WORKER)
        return run_here(type, data, length, result, room);
    if (how->end == WAIT_FIRM && how->timeout == 0 && !sure && kernel != instance.kernel) {
        answer = msg_call(kernel, type, data, length, result, room, how->why, how->key);
    } else {
        struct msg_policy policy = {.timeout = how->timeout, .end = how->end, .sure = sure, .recalls = how->recalls};

        answer = msg_call_within(&policy, kernel, type, data, length, result, room, how->why, how->key);
    }
    return __builtin_expect(answer >= 0, 1) || kernel == instance.kernel ? answer : remote_lost(kernel, type, answer);
}

int remote_call(uint32_t kernel, enum msg_type type, const void *data, uint32_t length, void *result, uint32_t room,
                const struct remote_how *how)
{
    uint32_t tries = 0;
    int answer;

    check_rank(kernel, type, how->why);
    if (!how->sure)
        return call_once(kernel, type, data, length, result, room, how, false);
    do {
        answer = call_once(kernel, type, data, length, result, room, how, true);
    } while (answer == -ENOMEM && ++tries < REMOTE_TRIES && pause(how, kernel));
    return answer;
}
