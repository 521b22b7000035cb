/* The retrieval strategies, and what they share. */
#ifndef MM_RETRIEVE_INTERNAL_H
#define MM_RETRIEVE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/space/strategy.h"
#include "mm/space/wire.h"

struct space;

extern const struct space_retrieval space_retrieve_home;
extern const struct space_retrieval space_retrieve_members;
extern const struct space_retrieval space_retrieve_broadcast;
extern const struct space_retrieval space_retrieve_chain;
extern const struct space_retrieval space_retrieve_upfront;
extern const struct space_retrieval space_retrieve_adaptive;
void space_retrieve_members_init(void);
void space_retrieve_home_init(void);
void space_retrieve_chain_init(void);

/* For strategies: the best answer so far, and an errno of one who could not. */
struct space_fetching {
    struct msg_space_mapping *answer;
    int error;
};
/* Takes an answer to SPACE_FETCH into the struct space_fetching at CONTEXT. */
void space_take_mapping(void *context, uint32_t kernel, const void *reply, int length);
/* What this kernel knows of the area is an answer too. */
void space_add_own_area(struct space *space, uint64_t page, struct msg_space_mapping *answer);
/* Maps here, borrowed and with FLAGS, what KERNEL has of SPACE, or if that is not the home owns of it; all of the space
 * is locked. BUFFER: MSG_MAX bytes. 0 or a negative errno: a part of them. Waits. */
int space_list_take(struct space *space, uint32_t kernel, uint8_t *buffer, uint64_t flags);
void space_list_init(void);
/* Where the home's page tables are the directory. */
int space_fetch_home(struct space *space, uint64_t page, struct msg_space_mapping *answer);
int space_record_home(struct space *space, uint64_t page, uint64_t frame, bool cow);
int space_record_many_home(struct space *space, const struct msg_space_pair *pairs, uint32_t count);
/* Where whoever wants to know of a new frame asks everybody. */
int space_record_nothing(struct space *space, uint64_t page, uint64_t frame, bool cow);
int space_record_none_of_many(struct space *space, const struct msg_space_pair *pairs, uint32_t count);

#endif
