/* Threads that were born in a role which this kernel has taken over, and that have never been on this kernel. The table
 * keeps where each went, as the previous kernel of the role knew it. A thread that is here, present or as a shadow, is
 * not looked up in this table. */
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
/* Puts ENTRY into the table, which owns it from now on. ENTRY is from the heap. */
void adopted_add(struct adopted *entry);
/* Returns where thread TID went. False: it is not in the table. */
bool adopted_find(uint32_t tid, uint32_t *went_to);
/* Records that thread TID has moved from FROM to TO. */
void adopted_redirect(uint32_t tid, uint32_t from, uint32_t to);
/* Removes thread TID, or all threads of GROUP, which have ended. Any context. */
void adopted_forget(uint32_t tid);
void adopted_forget_group(uint32_t group);
/* Calls EACH for all entries while programs are quiesced. */
void adopted_each(void (*each)(const struct adopted *entry, void *context), void *context);

#endif
