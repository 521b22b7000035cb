/* Long and late answers. See the header. */
#include "msg/request/long_answer.h"

#include "msg/channel_internal.h"

static void *sized(struct long_answer *answer, uint32_t size)
{
    if (answer != NULL)
        answer->size = size;
    return answer;
}

void *long_answer_create(uint32_t size)
{
    return sized(msg_memory.allocate_unset(size), size);
}

void *long_answer_create_sure(uint32_t size)
{
    return sized(msg_memory.allocate(size), size);
}

void long_answer_free(struct long_answer *answer)
{
    if (answer != NULL)
        msg_memory.release(answer, answer->size);
}

static void gone(struct msg_kept *kept)
{
    long_answer_free(container_of(kept, struct long_answer, kept));
}

void long_answer_keep(const struct msg *m, struct long_answer *answer)
{
    msg_keep(m, &answer->kept, NULL);
}

void long_answer_give(struct long_answer *answer, const void *bytes, int length)
{
    if (length < 0)
        msg_kept_reply_error(&answer->kept, length, gone);
    else
        msg_kept_reply_long(&answer->kept, bytes, (uint32_t)length, gone);
}

void long_answer_send(const struct msg *m, struct long_answer *answer, const void *bytes, uint32_t length)
{
    long_answer_keep(m, answer);
    long_answer_give(answer, bytes, (int)length);
}
