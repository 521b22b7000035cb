/* The requesting side: one request and its reply, or a request to each of a set of kernels, gathering all answers. A
 * live peer answers every request exactly once. */
#ifndef MSG_CALL_H
#define MSG_CALL_H

#include <stdint.h>

#include "kernel/abi/limits.h"
#include "kernel/wait/completion.h"
#include "msg/channel.h"

/* The callback for an answer, called in the context of a handler: it must not wait. The answer is LENGTH bytes at
 * REPLY, or LENGTH is a negative errno. */
typedef void (*msg_answer)(void *context, uint32_t kernel, const void *reply, int length);
/* A callback that ignores the reply: the int at ERROR, 0 before, becomes the lowest negative LENGTH, if any. */
void msg_note_error(void *error, uint32_t kernel, const void *reply, int length);

struct sender_class;

/* A request under way, in the requester's memory. A slot of the request table points to it. */
struct msg_asking {
    struct list node; /* [k] table_lock: in the list of requests that wait for a credit or a slot */
    const void *data; /* [i] */
    uint64_t header;  /* without the source */
    uint32_t kernel;  /* [i] */
    bool sure;        /* [i] if no slot is free it waits for one, instead of failing */
    bool waits;       /* [k] table_lock: it waits for a credit or a slot */
    bool slow;        /* [k] table_lock: it went into the queue, so OUTGOING is in use, and OUTGOING.done is called */
    uint8_t pad;
    struct sender_class *out; /* [i] the way to KERNEL; NULL for a request of this kernel to itself */
    msg_answer answer;
    void *context;
    struct msg_outgoing outgoing;
};

/* Sends a request to KERNEL and returns at once. ANSWER is called exactly once, perhaps before this returns, also when
 * the request could not be sent. A request for which no slot is free is queued until there is one. ASKING and DATA must
 * not change until ANSWER is called. Any context; never waits. */
void msg_ask(struct msg_asking *asking, uint32_t kernel, enum msg_type type, const void *data, uint32_t length,
             msg_answer answer, void *context);

/* How long the requesting task waits. */
struct msg_policy {
    uint64_t timeout;  /* ns; 0: no limit */
    enum wait_end end; /* which other events end the wait */
    bool sure; /* it waits for a slot of the request table if none is free, and may use the reserved ones: for requests
                  that are answered without another request of this kernel */
    bool recalls; /* the answer transfers something: whoever gives up asks for the answer, and takes it. Not for a
                     request to this kernel itself */
};

/* Sends a request to KERNEL and waits for the answer, which is copied to REPLY (at most ROOM bytes; a longer one is
 * -EMSGSIZE). Returns the length of the reply, or a negative errno: the peer's; -EAGAIN: it cannot be reached yet;
 * -EINVAL: there is no such kernel; -ENOMEM: the request table has no slot. WHY names the wait in a dump. Tasks
 * only. */
int msg_call(uint32_t kernel, enum msg_type type, const void *data, uint32_t length, void *reply, uint32_t room,
             const char *why, uint64_t key);
/* The same, but gives up by POLICY with -ETIMEDOUT or -EINTR (interrupted or killed): an answer that still arrives is
 * dropped and counted, and a kernel that keeps the request is notified. With POLICY->recalls a request that was sent is
 * not dropped: a CANCEL, which is not lost, makes the kernel that keeps it answer at once, and the result is that
 * answer. KERNEL may be this one: then the task runs the handler. */
int msg_call_within(const struct msg_policy *policy, uint32_t kernel, enum msg_type type, const void *data,
                    uint32_t length, void *reply, uint32_t room, const char *why, uint64_t key);
/* One of these was answered with -ENOMEM by another kernel, KERNEL, or this one had no memory to ask it. Called in the
 * asking task; must not wait. Set by tasks/oom at the start; NULL: nobody wants to know. */
extern void (*msg_lacks)(uint32_t kernel);

/* Sends a request to every kernel of SET and waits for all answers. EACH is called once per kernel in the context of a
 * handler (it must not wait; calls do not overlap), with LENGTH or a negative errno. EACH may be NULL: the answers are
 * ignored. The request stays in order with other messages of its class to the same kernel. Tasks only. */
void msg_gather(kernel_set set, enum msg_type type, const void *data, uint32_t length, msg_answer each, void *context,
                const char *why, uint64_t key);
/* The same through relays where that is faster; then the order is not kept, and the ticket names the relay: see
 * msg/request/multicast.c. Replies of the type must be FIXED. */
void msg_multicast(kernel_set set, enum msg_type type, const void *data, uint32_t length, msg_answer each,
                   void *context, const char *why, uint64_t key);

/* Returns the kernel to which this one, another than ROOT, sends what is for ROOT and is gathered on its way: the one
 * by which a multicast of ROOT to all kernels would come here if it asked at most eight directly; ROOT itself, or a
 * relay, whose number is lower than this kernel's. Any context. */
uint32_t msg_relay_to(uint32_t root);

#endif
