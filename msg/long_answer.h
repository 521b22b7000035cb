/* An answer that is longer than a slot, or is sent later: an object of the answerer, freed when the answer has been
 * sent.
 */
#ifndef MSG_LONG_ANSWER_H
#define MSG_LONG_ANSWER_H

#include "msg/channel.h"

struct long_answer {
    struct msg_kept kept;
    uint32_t size; /* of the object that begins with this */
};

/* Bytes of an answer for which an object of MSG_MAX bytes has room, beside this and a few words of the keeper's. */
#define LONG_ANSWER_MAX (MSG_MAX - 256u)

/* An object of SIZE bytes that begins with a struct long_answer; the rest is not set. NULL without memory. Any context.
 */
void *long_answer_create(uint32_t size);
/* Frees an object that is not sent; NULL is ignored. */
void long_answer_free(struct long_answer *answer);
/* In the handler of M: it is answered later. */
void long_answer_keep(const struct msg *m, struct long_answer *answer);
/* LENGTH bytes at BYTES, which are in the object, are the answer; or LENGTH is a negative errno. The object is gone.
 * Any context. */
void long_answer_give(struct long_answer *answer, const void *bytes, int length);
/* Both at once. */
void long_answer_send(const struct msg *m, struct long_answer *answer, const void *bytes, uint32_t length);

#endif
