/* The retrieval strategies, and the functions that they share. */
#ifndef MM_RETRIEVE_INTERNAL_H
#define MM_RETRIEVE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/space/strategy.h"
#include "mm/space/wire.h"

struct space;

#define STRATEGY(name, finds, asks, messages, frame) extern const struct space_retrieval space_retrieve_##name;
#include "mm/retrieve/strategies.def"
#undef STRATEGY

/* The result of asking several kernels: the best answer so far, and the errno of a kernel that could not answer. */
struct space_fetching {
    struct msg_space_mapping *answer;
    int error;
};
/* Merges a reply to SPACE_FETCH into the struct space_fetching at CONTEXT. */
void space_take_mapping(void *context, uint32_t kernel, const void *reply, int length);
/* If no kernel has answered with an area or a frame, sets ANSWER to this kernel's own area of PAGE, if it has one. */
void space_add_own_area(struct space *space, uint64_t page, struct msg_space_mapping *answer);
/* Maps by borrowed entries with FLAGS the pages of SPACE that KERNEL maps if it is the home, or owns if it is not;
 * the whole space is locked. BUFFER: MSG_MAX bytes. Returns 0, or a negative errno if only a part of them is mapped.
 * Waits. */
int space_list_take(struct space *space, uint32_t kernel, uint8_t *buffer, uint64_t flags);
void space_list_init(void);
/* For strategies whose directory is the home's page tables. */
int space_fetch_home(struct space *space, uint64_t page, struct msg_space_mapping *answer);
int space_record_home(struct space *space, uint64_t page, uint64_t frame, bool cow);
int space_record_many_home(struct space *space, const struct msg_space_pair *pairs, uint32_t count);
/* For strategies without a directory, which ask all kernels for a page: nothing to record. */
int space_record_nothing(struct space *space, uint64_t page, uint64_t frame, bool cow);
int space_record_none_of_many(struct space *space, const struct msg_space_pair *pairs, uint32_t count);

#endif
