/* Operations that one kernel does for another: the one way to ask. A row OPERATION of msg/messages.def says of each
 * its payloads, whether a handler or a task does it, which kernels may ask it and which do it, and what the asker gets
 * when that kernel does not run. Who serves it registers one function, which does it for this kernel's own tasks too:
 * so an operation has one implementation, wherever it is asked from. tasks/remote/remote.md has the protocol.
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

/* What is asked, as the function that does it sees it. It stays until that returns. */
struct remote_request {
    enum msg_type type; /* of an OPERATION */
    uint32_t kernel;    /* who asks: perhaps this kernel */
    bool task;          /* a task does it, and it may wait; else a handler */
    uint32_t length;    /* bytes at DATA: the payload struct, and what follows it where the table says BYTES */
    const void *data;   /* 8-byte aligned, in this kernel's memory: nobody changes it */
};

/* Does what is asked, and writes the result to RESULT (8-byte aligned; as much room as there is for this request).
 * Returns the result's length, or a negative errno. Unless REQUEST->task it must not wait, and of an operation that may
 * go either way may return REMOTE_TASK: nothing was done, and a task does it, with the same request. */
#define REMOTE_TASK INT32_MAX
typedef int (*remote_run)(const struct remote_request *request, void *result);
/* Returns REMOTE_TASK, and the task gets LENGTH bytes at DATA in place of the request's, with ROOM for its result: for
 * what the request only refers to. DATA stays until the handler ends. Handlers only, of which one runs at a time. */
int remote_task_with(const void *data, uint32_t length, uint32_t room);
/* How much room the result of REQUEST takes at most, or a negative errno: it is refused, and nothing has been done. In
 * a handler: must not wait. */
typedef int (*remote_room)(const struct remote_request *request);

/* From now on RUN does operation TYPE. SIZE and RESULT_SIZE are those of the payload structs; ROOM may be NULL: a
 * result is RESULT_SIZE bytes at most. Once for each type, at start. */
void remote_serve(enum msg_type type, remote_run run, remote_room room, uint32_t size, uint32_t result_size);
/* REMOTE_SERVE(GROUP_TIME, run, NULL, struct msg_group, struct msg_group_killed) */
#define REMOTE_SERVE(name, run, room, request, result)                                                                 \
    remote_serve(MSG_##name, run, room, sizeof(request), sizeof(result))

/* How a task asks. WHY and KEY name its wait in a dump. */
struct remote_how {
    const char *why;
    uint64_t key;
    enum wait_end end; /* what ends the wait before the answer; WAIT_FIRM: nothing */
    uint64_t timeout;  /* ns, 0: as long as it takes */
    bool sure;         /* it is not to be lost for want of memory: see remote_call */
};

/* What the asker gets when KERNEL, another one, has answered ERROR, or could not be asked. */
int remote_lost(uint32_t kernel, enum msg_type type, int error);

/* Has KERNEL, perhaps this one, do operation TYPE, and waits for the result: its length, at most ROOM bytes of which
 * are at RESULT; or a negative errno: what the operation says, or the row's LOST: KERNEL does not run, or does not
 * exist; -EINTR: HOW->end ended the wait; -ETIMEDOUT; then it may have been done all the same; -ENOMEM: there was none,
 * here or there, and nothing has been done. With HOW->sure it is tried again, with pauses, up to REMOTE_TRIES times and
 * until HOW->end ends that. Tasks only. */
int remote_call(uint32_t kernel, enum msg_type type, const void *data, uint32_t length, void *result, uint32_t room,
                const struct remote_how *how);

/* The same of another kernel, by the fast path: nothing ends the wait but the answer, and -ENOMEM is told. */
static inline int remote_ask(uint32_t kernel, enum msg_type type, const void *data, uint32_t length, void *result,
                             uint32_t room, const char *why, uint64_t key)
{
    int answer = msg_call(kernel, type, data, length, result, room, why, key);

    return __builtin_expect(answer >= 0, 1) ? answer : remote_lost(kernel, type, answer);
}

/* The same, and for want of memory it is asked again, as with HOW->sure. */
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

#define REMOTE_TRIES 10000u  /* then there is no hope of memory */
#define REMOTE_PAUSE 1000000 /* ns between two tries */

#endif
