/* Fork: the requests to the other members of the parent, to write-protect private pages, and a member's answer to
 * SPACE_TAKE, which lists the pages that it owns. */
#include "kernel/abi/errno.h"
#include "mm/fork/internal.h"
#include "mm/fork/wire.h"
#include "mm/frame/abroad.h"
#include "mm/frame/frame.h"
#include "mm/lease/lease.h"
#include "mm/page/zero_page.h"
#include "mm/space/entry.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/channel.h"
#include "msg/request/call.h"

/* --- the forking kernel --- */

struct protected
{
    kernel_set holders; /* kernels that may own pages */
    int error;
};

static void note_protected(void *context, uint32_t kernel, const void *reply, int length)
{
    const struct msg_space_changed *answer = reply;
    struct protected *protected = context;

    if (length != (int)sizeof(*answer))
    protected->error = length < 0 ? length : -EPROTO;
    else if (answer->value != 0) protected->holders |= 1ull << kernel;
}

int fork_write_protect_others(struct fork *fork, kernel_set *holders)
{
    struct msg_space_change change = {
        .space = fork->parent->id, .start = 0, .length = USER_END, .operation = MSG_SPACE_WRITE_PROTECT};
    struct protected protected = {0};

    if (fork->others != 0)
        msg_multicast(fork->others, MSG_SPACE_WRITE_PROTECT, &change, sizeof(change), note_protected, &protected,
                      "fork", 0);
    *holders = protected.holders;
    return protected.error;
}

void fork_thaw_others(struct fork *fork)
{
    struct msg_space_page thaw = {.space = fork->parent->id, .page = USER_END};

    msg_gather(fork->others, MSG_SPACE_TAKE, &thaw, sizeof(thaw), NULL, NULL, "end of a fork", 0);
}

/* --- a member --- */

#define TAKEN_AT_ONCE 768u /* pages that a handler lists, which takes 70,000 instructions */

/* The requester has counted the references to all that was listed before, and asks for the rest, from USER_END on:
 * there is none. */
static void handle_taken(const struct msg *m, struct space *space)
{
    const struct msg_space_taken none = {0};

    spin_lock(&space->lock);
    lease_thaw_locked(space);
    spin_unlock(&space->lock);
    msg_reply(&m->ticket, &none, sizeof(none));
}

/* Lists the pages from FROM on that this kernel owns, and counts the child's reference to those that are its own
 * memory. Others of what is leased to this kernel may not be released before the requester has counted theirs. Returns
 * the bytes of the answer. */
static uint32_t list_owned(struct space *space, uint64_t from, struct msg_space_taken *head)
{
    struct msg_space_pair *pairs = (struct msg_space_pair *)(head + 1);
    const struct area *area = NULL;
    uint32_t count = 0;
    bool remote = false;
    const uint64_t *leaf;

    *head = (struct msg_space_taken){0};
    spin_lock(&space->lock);
    space->taken++;
    for (uint64_t va = from; (leaf = paging_next_leaf_look(&space->tables, &va, USER_END)) != NULL; va += LEAF_SIZE) {
        if (count > TAKEN_AT_ONCE - LEAF_ENTRIES) {
            head->next = va;
            break;
        }
        for (uint32_t i = 0; (i = paging_next_used(leaf, i, LEAF_ENTRIES)) < LEAF_ENTRIES; i++) {
            uint64_t entry = leaf[i];

            if ((entry & PAGING_SOFT_OWNING) == 0 || (entry & PAGING_SOFT_PENDING_FREE) != 0 || zero_page_is(entry))
                continue; /* the page of zeros is left out: the child's first touch finds zeros anyway */
            if (area == NULL || area->end <= va + i * PAGE_SIZE)
                area = area_next(&space->areas, va + i * PAGE_SIZE);
            if (area != NULL && area->start <= va + i * PAGE_SIZE && (area->prot & AREA_NOT_COPIED) != 0)
                continue;
            pairs[count++] = (struct msg_space_pair){va + i * PAGE_SIZE, entry & PAGING_FRAME};
            if ((entry & PAGING_SOFT_REMOTE) == 0) {
                frame_share(entry & PAGING_FRAME);
                abroad_add(entry & PAGING_FRAME);
            } else {
                remote = true;
            }
        }
    }
    if (head->next == 0 && remote && space->leases.frozen)
        head->next = USER_END;
    else if (head->next == 0)
        lease_thaw_locked(space);
    spin_unlock(&space->lock);
    return (uint32_t)(sizeof(*head) + count * sizeof(*pairs));
}

static void handle_take(const struct msg *m)
{
    const struct msg_space_page *ask = m->data;
    struct space *space = space_get(ask->space);
    bool over = space != NULL && ask->page >= USER_END;
    struct long_answer *answer = space != NULL && !over ? long_answer_create(MSG_MAX) : NULL;

    if (over)
        handle_taken(m, space);
    else if (answer != NULL)
        long_answer_send(m, answer, answer + 1,
                         list_owned(space, ask->page, (struct msg_space_taken *)(void *)(answer + 1)));
    else
        msg_reply_error(&m->ticket, space != NULL ? -ENOMEM : -ESRCH);
    if (space != NULL)
        space_put(space);
}

void fork_member_init(void)
{
    msg_register(MSG_SPACE_TAKE, handle_take, sizeof(struct msg_space_page), sizeof(struct msg_space_taken));
}
