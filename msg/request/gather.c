/* One request to each of a set of kernels, with all answers gathered. See msg/request/call.h. */
#include "kernel/wait/completion.h"
#include "msg/channel_internal.h"
#include "msg/request/call.h"
#include "msg/request/request.h"

#define GATHER_NEAR 8u /* kernels asked at the same time without allocating memory */

struct gathering {
    struct completion done;
    struct spinlock lock;
    uint32_t left; /* [k] lock: answers still to come, plus one until all requests are sent */
    msg_answer each;
    void *context;
};

/* Counts an answer and releases the lock. */
static inline void one_less_unlock(struct gathering *gathering)
{
    uint32_t left = --gathering->left;

    spin_unlock(&gathering->lock);
    if (left == 0)
        completion_signal(&gathering->done);
}

static void gather_answer(void *context, uint32_t kernel, const void *reply, int length)
{
    struct gathering *gathering = context;

    spin_lock(&gathering->lock);
    if (gathering->each != NULL)
        gathering->each(gathering->context, kernel, reply, length);
    one_less_unlock(gathering);
}

/* One round: SET has at most as many kernels as ASKINGS has elements. */
static void gather_some(struct gathering *gathering, kernel_set set, struct msg_asking *askings, enum msg_type type,
                        const void *data, uint32_t length, const struct wait_reason *reason)
{
    completion_init(&gathering->done);
    gathering->left = kernel_set_count(set) + 1;
    for (kernel_set rest = set; rest != 0; rest &= rest - 1)
        msg_request_ask(askings++, (uint32_t)__builtin_ctzll(rest), type, data, length, gather_answer, gathering, NULL,
                        true);
    spin_lock(&gathering->lock);
    one_less_unlock(gathering);
    msg_wait(&gathering->done, reason);
}

void msg_note_error(void *error, uint32_t kernel, const void *reply, int length)
{
    int *lowest = error;

    (void)kernel;
    (void)reply;
    if (length < *lowest)
        *lowest = length;
}

void msg_gather(kernel_set set, enum msg_type type, const void *data, uint32_t length, msg_answer each, void *context,
                const char *why, uint64_t key)
{
    uint32_t count = kernel_set_count(set);
    struct wait_reason reason = {.what = why, .kernel = count == 1 ? __builtin_ctzll(set) : -1, .key = key};
    struct gathering gathering = {.each = each, .context = context};
    struct msg_asking near[GATHER_NEAR];
    struct msg_asking *far;

    if (count > GATHER_NEAR) {
        far = msg_memory.allocate_unset(count * sizeof(near[0]));
        if (far != NULL) {
            gather_some(&gathering, set, far, type, data, length, &reason);
            msg_memory.release(far, count * sizeof(near[0]));
            return;
        }
    }
    while (set != 0) { /* all at once or, without memory, one group after the other */
        kernel_set some = 0;

        for (uint32_t i = 0; i < GATHER_NEAR && set != 0; i++, set &= set - 1)
            some |= set & -set;
        gather_some(&gathering, some, near, type, data, length, &reason);
    }
}
