/* The answer to a request that is longer than a slot: memory that goes when it has been sent. */
#ifndef MM_SPACE_LONG_ANSWER_H
#define MM_SPACE_LONG_ANSWER_H

#include "msg/channel.h"

struct long_answer {
    struct msg_kept kept;
    uint8_t *bytes; /* MSG_MAX */
};

/* NULL without memory. Any context. */
struct long_answer *long_answer_create(void);
/* One that is not sent; NULL: nothing. */
void long_answer_free(struct long_answer *answer);
/* Answers M with the first LENGTH bytes. In its handler. */
void long_answer_send(const struct msg *m, struct long_answer *answer, uint32_t length);

#endif
