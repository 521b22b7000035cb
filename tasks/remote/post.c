/* Requests without a waiting task. See the header. */
#include "tasks/remote/post.h"

#include "kernel/abi/errno.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/request/call.h"

struct posted {
    struct msg_asking asking;
    uint64_t data[POST_MAX / 8];
    msg_answer answered;
    void *context;
};

static void take_answer(void *context, uint32_t kernel, const void *reply, int length)
{
    struct posted *posted = context;
    msg_answer answered = posted->answered;
    void *answered_context = posted->context;

    heap_free(posted, sizeof(*posted));
    if (answered != NULL)
        answered(answered_context, kernel, reply, length);
}

static int send(uint32_t kernel, enum msg_type type, const void *data, uint32_t length, msg_answer answered,
                void *context)
{
    struct posted *posted = heap_alloc_sure(sizeof(*posted));

    assert(length <= POST_MAX);
    if (posted == NULL)
        return -ENOMEM;
    memcpy(posted->data, data, length);
    posted->answered = answered;
    posted->context = context;
    msg_ask(&posted->asking, kernel, type, posted->data, length, take_answer, posted);
    return 0;
}

int post(uint32_t kernel, enum msg_type type, const void *data, uint32_t length)
{
    return send(kernel, type, data, length, NULL, NULL);
}

void post_answered(uint32_t kernel, enum msg_type type, const void *data, uint32_t length, msg_answer answered,
                   void *context)
{
    int error = send(kernel, type, data, length, answered, context);

    if (error != 0)
        answered(context, kernel, NULL, error);
}
