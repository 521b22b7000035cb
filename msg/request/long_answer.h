/* An answer that is longer than a slot, or is sent later, in an object of the answering code that is freed when the
 * answer has been sent. */
#ifndef MSG_LONG_ANSWER_H
#define MSG_LONG_ANSWER_H

#include "msg/channel.h"

struct long_answer {
    struct msg_kept kept;
    uint32_t size; /* of the whole object */
};

/* Bytes of an answer that fit in an object of MSG_MAX bytes, behind this struct and a few words of the keeper's. */
#define LONG_ANSWER_MAX (MSG_MAX - 256u)

/* Allocates an object of SIZE bytes that begins with a struct long_answer; its content is unspecified. NULL: out of
 * memory. Any context. */
void *long_answer_create(uint32_t size);
/* The same, for an answer that nobody can do without: from the memory that is kept for such (heap_alloc_sure). */
void *long_answer_create_sure(uint32_t size);
/* Frees an object that is not sent. ANSWER may be NULL. */
void long_answer_free(struct long_answer *answer);
/* In the handler of M: keeps the request, to be answered later. */
void long_answer_keep(const struct msg *m, struct long_answer *answer);
/* Answers with LENGTH bytes at BYTES, which are in the object, or with the negative errno LENGTH. Frees the object when
 * the answer has been sent. Any context. */
void long_answer_give(struct long_answer *answer, const void *bytes, int length);
/* Keeps M and answers it. */
void long_answer_send(const struct msg *m, struct long_answer *answer, const void *bytes, uint32_t length);

#endif
