/* Threads that were born in a role this kernel has taken over, and that have never been here: where they went, as the
 * kernel that had the role knew. A thread that is here, present or shadow, is not looked for in this table. */
#ifndef TASKS_ROLE_ADOPTED_H
#define TASKS_ROLE_ADOPTED_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/lib/list.h"

struct adopted {
    struct list node; /* [k] the table's lock */
    uint32_t tid;
    uint32_t group;
    uint32_t went_to; /* [k] kernel */
    uint32_t pad;
};

void adopted_init(void);
/* Puts ENTRY, from the heap, into the table. */
void adopted_add(struct adopted *entry);
/* Where thread TID went. False: it is not in the table. */
bool adopted_find(uint32_t tid, uint32_t *went_to);
/* It went on from FROM to TO. */
void adopted_redirect(uint32_t tid, uint32_t from, uint32_t to);
/* It is over; all threads of GROUP are. Any context. */
void adopted_forget(uint32_t tid);
void adopted_forget_group(uint32_t group);
/* Calls EACH for all while programs are quiesced. */
void adopted_each(void (*each)(const struct adopted *entry, void *context), void *context);

#endif
