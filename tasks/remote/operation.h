/* Operations that one kernel does for another: the only request interface between kernels. For each operation, a row
 * OPERATION of msg/messages.def says which payloads it has, whether a handler or a task does it, whether the request
 * may be kept until an event, which kernels may ask for it, which kernels do it, and which error the caller gets when
 * that kernel does not run. The room that serves an operation registers one function, which also serves the tasks of
 * its own kernel, so an operation has one implementation wherever the caller is. The protocol is in
 * tasks/remote/remote.md.
 *
 * Ownership marks: [i] set once, [a] atomic, [k] the lock of kept requests (msg/request/kept.c). */
#ifndef TASKS_REMOTE_OPERATION_H
#define TASKS_REMOTE_OPERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/errno.h"
#include "kernel/wait/completion.h"
#include "msg/channel.h"
#include "msg/message.h"
#include "msg/request/call.h"
#include "tasks/thread/wait.h"

/* A request, as the function that serves it sees it. It stays valid until that function returns. */
struct remote_request {
    enum msg_type type; /* of an OPERATION */
    uint32_t kernel;    /* the caller's kernel, perhaps this one */
    bool task;          /* a task serves it and may wait; false: a handler serves it */
    uint32_t length;    /* bytes at DATA: the payload struct, and the bytes that follow it if the row says BYTES */
    const void *data;   /* 8-byte aligned, in this kernel's memory; it does not change */
};

/* Serves REQUEST and writes the result to RESULT, which is 8-byte aligned and has the room that this request has.
 * Returns the result's length, which must not exceed that room, or a negative errno. The function must not wait unless
 * REQUEST->task. If the row says EITHER, a handler's call may return REMOTE_TASK, which means that nothing was done and
 * that a task is to serve the same request; or it may keep the request, as if the row said KEPT. */
#define REMOTE_TASK INT32_MAX
typedef int (*remote_run)(const struct remote_request *request, void *result);
/* Like REMOTE_TASK, but the task gets LENGTH bytes at DATA in place of the data of REQUEST, and ROOM bytes for its
 * result: for data to which the request only refers. The function returns this function's value. DATA must stay valid
 * until the handler has ended. */
int remote_task_with(const struct remote_request *request, const void *data, uint32_t length, uint32_t room);

/* A request that its function keeps until an event, in memory that the function has allocated. */
struct remote_kept {
    struct msg_kept kept;
    struct work work;                         /* the worker calls CANCEL */
    bool cancelled;                           /* [k] the work has been submitted */
    uint32_t users;                           /* [a] the one who answers, and the worker */
    void (*cancel)(struct remote_kept *kept); /* [i] see remote_keep */
    void (*done)(struct remote_kept *kept);   /* [i] see remote_keep */
};
/* The function of an operation that is KEPT, or EITHER and not called by a task, calls this to keep REQUEST, and
 * returns the value, REMOTE_KEPT. From then on, even before the function returns, an event may answer the request;
 * remote_answer must be called exactly once. When the caller gives up, which all callers do when their kernel stops, a
 * worker calls CANCEL, once and without locks. CANCEL answers the request unless the event already does. If the message
 * that the caller gives up finds no room, CANCEL is not called, and the next event answers the request. DONE is called
 * when the answer has gone and CANCEL, if it was called, has returned; KEPT stays valid until then. DONE must not wait.
 */
#define REMOTE_KEPT (INT32_MAX - 1)
int remote_keep(const struct remote_request *request, struct remote_kept *kept,
                void (*cancel)(struct remote_kept *kept), void (*done)(struct remote_kept *kept));
/* The answer to a kept request has gone. Used by remote_answer. */
void remote_answered(struct msg_kept *kept);
/* Answers a kept request with LENGTH bytes at RESULT, or with the negative errno LENGTH. More than MSG_SHORT bytes must
 * stay valid until DONE is called. Any context that holds no lock which DONE takes; never waits. */
static inline void remote_answer(struct remote_kept *kept, const void *result, int length)
{
    if (length < 0)
        msg_kept_reply_error(&kept->kept, length, remote_answered);
    else if (length > (int)MSG_SHORT)
        msg_kept_reply_long(&kept->kept, result, (uint32_t)length, remote_answered);
    else
        msg_kept_reply(&kept->kept, result, (uint32_t)length, remote_answered);
}

/* Returns the most room that the result of REQUEST can take, or a negative errno, with which the request is refused
 * and nothing is done. Called in a handler: it must not wait. */
typedef int (*remote_room)(const struct remote_request *request);

/* From now on RUN serves operation TYPE. SIZE and RESULT_SIZE are the sizes of the payload structs. If ROOM is NULL, a
 * result has at most RESULT_SIZE bytes; this must be so, and must fit into a slot, if the operation is KEPT. Called
 * once for each type, at start. A worker that serves an operation that is EITHER has WORK_FILES. */
void remote_serve(enum msg_type type, remote_run run, remote_room room, uint32_t size, uint32_t result_size);
/* The same of an operation that is a TASK or WORKER, or EITHER: a worker that serves it has RANK, because of what RUN
 * may wait for (kernel/wait/work.h). */
void remote_serve_task(enum msg_type type, enum work_rank rank, remote_run run, remote_room room, uint32_t size,
                       uint32_t result_size);
/* What becomes of a request for a worker on a kernel that has no memory for it. */
enum remote_short {
    REMOTE_REFUSED, /* -ENOMEM; so it is if nothing is said */
    REMOTE_RESERVE, /* it takes the kernel's reserve, if kernel 0 asks or serves: others may not use that up */
    REMOTE_SPARE,   /* one request of each peer at a time has memory in any case; -ENOMEM for others. At most
                     * REMOTE_SPARE_SIZE bytes of data, and a result that fits into a slot */
};
#define REMOTE_SPARE_SIZE 64u
/* From now on HOW holds for operation TYPE, which is served: it may be what gives memory back. */
void remote_serve_short(enum msg_type type, enum remote_short how);
/* REMOTE_SERVE(GROUP_TIME, run, NULL, struct msg_group, struct msg_group_killed) */
#define REMOTE_SERVE(name, run, room, request, result)                                                                 \
    remote_serve(MSG_##name, run, room, sizeof(request), sizeof(result))
/* REMOTE_SERVE_TASK(SPAWN, WORK_PROGRAMS, run, NULL, struct msg_spawn, struct msg_spawned) */
#define REMOTE_SERVE_TASK(name, rank, run, room, request, result)                                                      \
    remote_serve_task(MSG_##name, rank, run, room, sizeof(request), sizeof(result))

/* How a task waits for an operation. WHY and KEY name its wait in a dump. */
struct remote_how {
    const char *why;
    uint64_t key;
    enum wait_end end; /* the conditions that end the wait before the answer; WAIT_FIRM: none */
    uint64_t timeout;  /* ns; 0: none */
    bool sure;         /* the call retries when there is no memory: see remote_call */
    bool recalls;      /* the answer transfers something: see remote_call */
};

/* Returns the caller's result when another kernel, KERNEL, has answered ERROR or could not be asked. */
int remote_lost(uint32_t kernel, enum msg_type type, int error);

/* Asks KERNEL, perhaps this one, for operation TYPE and waits for the result, at most ROOM bytes, which are written to
 * RESULT. Returns the result's length or a negative errno: that of the operation; the row's LOST if KERNEL does not run
 * or does not exist; -EINTR if HOW->end ended the wait, or -ETIMEDOUT, after both of which the operation may have been
 * done nevertheless; -ENOMEM if this kernel or KERNEL had no memory and nothing was done. With HOW->sure, the call
 * retries after -ENOMEM, with pauses, up to REMOTE_TRIES times or until HOW->end ends the wait. With HOW->recalls, for
 * another kernel, a wait that ends early still gets the answer, for which KERNEL is asked: what the operation has done
 * is not lost, and -EINTR or -ETIMEDOUT means that nothing was done. Tasks only. */
int remote_call(uint32_t kernel, enum msg_type type, const void *data, uint32_t length, void *result, uint32_t room,
                const struct remote_how *how);

/* As remote_call for another kernel, by the fast path: only the answer ends the wait, and -ENOMEM is returned. */
static inline int remote_ask(uint32_t kernel, enum msg_type type, const void *data, uint32_t length, void *result,
                             uint32_t room, const char *why, uint64_t key)
{
    int answer = msg_call(kernel, type, data, length, result, room, why, key);

    return __builtin_expect(answer >= 0, 1) ? answer : remote_lost(kernel, type, answer);
}

/* As remote_ask, but retries after -ENOMEM as remote_call does with HOW->sure. */
static inline int remote_ask_sure(uint32_t kernel, enum msg_type type, const void *data, uint32_t length, void *result,
                                  uint32_t room, const char *why, uint64_t key)
{
    int answer = remote_ask(kernel, type, data, length, result, room, why, key);

    if (__builtin_expect(answer == -ENOMEM, 0)) {
        struct remote_how how = {.why = why, .key = key, .sure = true};

        answer = remote_call(kernel, type, data, length, result, room, &how);
    }
    return answer;
}

#define REMOTE_TRIES 10000u  /* after so many, memory is no longer expected */
#define REMOTE_PAUSE 1000000 /* ns between two tries */

#endif
