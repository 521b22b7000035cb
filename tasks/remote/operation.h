/* Operations that one kernel does for another: the only request interface between kernels. For each operation, a row
 * OPERATION of msg/messages.def gives its payloads, whether a handler or a task does it, which kernels may ask for it
 * and which do it, and what the caller gets when that kernel does not run. The room that serves an operation registers
 * one function, which also serves this kernel's own tasks: so an operation has one implementation, wherever the caller
 * is. tasks/remote/remote.md has the protocol.
 *
 * Ownership marks: [i] set once. */
#ifndef TASKS_REMOTE_OPERATION_H
#define TASKS_REMOTE_OPERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/errno.h"
#include "kernel/wait/completion.h"
#include "msg/call.h"
#include "msg/message.h"

/* A request, as the function that serves it sees it. It stays valid until that function returns. */
struct remote_request {
    enum msg_type type; /* of an OPERATION */
    uint32_t kernel;    /* the caller's kernel: perhaps this one */
    bool task;          /* a task serves it, and may wait; else a handler */
    uint32_t length;    /* bytes at DATA: the payload struct, and what follows it where the table says BYTES */
    const void *data;   /* 8-byte aligned, in this kernel's memory: does not change */
};

/* Serves REQUEST, and writes the result to RESULT (8-byte aligned; with the room that this request has). Returns the
 * result's length, or a negative errno. Unless REQUEST->task it must not wait; if a handler or a task may serve the
 * operation, it may then return REMOTE_TASK: nothing was done, and a task serves the same request. */
#define REMOTE_TASK INT32_MAX
typedef int (*remote_run)(const struct remote_request *request, void *result);
/* Returns REMOTE_TASK; the task gets LENGTH bytes at DATA in place of the request's data, with ROOM for its result.
 * This is for data that the request only refers to. DATA stays valid until the handler ends. Handlers only, of which
 * one runs at a time. */
int remote_task_with(const void *data, uint32_t length, uint32_t room);
/* The most room that the result of REQUEST takes, or a negative errno: the request is refused, and nothing has been
 * done. In a handler: must not wait. */
typedef int (*remote_room)(const struct remote_request *request);

/* From now on RUN serves operation TYPE. SIZE and RESULT_SIZE are the sizes of the payload structs; ROOM may be NULL:
 * then a result is at most RESULT_SIZE bytes. Once for each type, at start. */
void remote_serve(enum msg_type type, remote_run run, remote_room room, uint32_t size, uint32_t result_size);
/* REMOTE_SERVE(GROUP_TIME, run, NULL, struct msg_group, struct msg_group_killed) */
#define REMOTE_SERVE(name, run, room, request, result)                                                                 \
    remote_serve(MSG_##name, run, room, sizeof(request), sizeof(result))

/* How a task waits for an operation. WHY and KEY name its wait in a dump. */
struct remote_how {
    const char *why;
    uint64_t key;
    enum wait_end end; /* what ends the wait before the answer; WAIT_FIRM: nothing */
    uint64_t timeout;  /* ns, 0: as long as it takes */
    bool sure;         /* it must not fail for want of memory: see remote_call */
};

/* The caller's result when KERNEL, another one, has answered ERROR, or could not be asked. */
int remote_lost(uint32_t kernel, enum msg_type type, int error);

/* Asks KERNEL, perhaps this one, for operation TYPE, and waits for the result. Returns its length, of which at most
 * ROOM bytes are at RESULT, or a negative errno: that of the operation; the row's LOST, if KERNEL does not run or does
 * not exist; -EINTR, if HOW->end ended the wait, or -ETIMEDOUT: in both cases the operation may have been done all the
 * same; -ENOMEM, if this kernel or KERNEL had no memory and nothing has been done. With HOW->sure, -ENOMEM is retried,
 * with pauses, up to REMOTE_TRIES times and until HOW->end ends that. Tasks only. */
int remote_call(uint32_t kernel, enum msg_type type, const void *data, uint32_t length, void *result, uint32_t room,
                const struct remote_how *how);

/* The same for another kernel, by the fast path: only the answer ends the wait, and -ENOMEM is returned. */
static inline int remote_ask(uint32_t kernel, enum msg_type type, const void *data, uint32_t length, void *result,
                             uint32_t room, const char *why, uint64_t key)
{
    int answer = msg_call(kernel, type, data, length, result, room, why, key);

    return __builtin_expect(answer >= 0, 1) ? answer : remote_lost(kernel, type, answer);
}

/* The same, but -ENOMEM is retried, as with HOW->sure. */
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

#define REMOTE_TRIES 10000u  /* then memory is not expected any more */
#define REMOTE_PAUSE 1000000 /* ns between two tries */

#endif
