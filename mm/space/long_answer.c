/* Long answers. See the header. */
#include "mm/space/long_answer.h"

#include "kernel/lib/list.h"
#include "mm/frame/heap.h"
#include "msg/message.h"

struct long_answer *long_answer_create(void)
{
    struct long_answer *answer = heap_alloc(sizeof(*answer));

    if (answer == NULL)
        return NULL;
    answer->bytes = heap_alloc(MSG_MAX);
    if (answer->bytes != NULL)
        return answer;
    heap_free(answer, sizeof(*answer));
    return NULL;
}

void long_answer_free(struct long_answer *answer)
{
    if (answer == NULL)
        return;
    heap_free(answer->bytes, MSG_MAX);
    heap_free(answer, sizeof(*answer));
}

static void gone(struct msg_kept *kept)
{
    long_answer_free(container_of(kept, struct long_answer, kept));
}

void long_answer_send(const struct msg *m, struct long_answer *answer, uint32_t length)
{
    msg_keep(m, &answer->kept, NULL);
    msg_kept_reply_long(&answer->kept, answer->bytes, length, gone);
}
