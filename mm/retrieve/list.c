/* SPACE_LIST: one kernel reports its pages of a space to another, which maps them. A kernel that begins to host a space
 * with strategy `upfront` asks the home, and a home whose page tables become the directory asks its members.
 * mm/retrieve/retrieval.md has the protocol. */
#include "kernel/abi/errno.h"
#include "mm/frame/reference.h"
#include "mm/page/zero_page.h"
#include "mm/retrieve/internal.h"
#include "mm/retrieve/wire.h"
#include "mm/space/entry.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "msg/request/long_answer.h"
#include "msg/slice.h"

#define RUNS_MAX ((LONG_ANSWER_MAX - sizeof(struct msg_space_listed)) / sizeof(struct msg_space_run))
#define TABLES_A_PART 64u /* leaf tables that one reply examines under the lock */

/* --- the reporting kernel --- */

/* Returns the end of the run that begins at INDEX: entries with consecutive frames and the same marks. */
static uint32_t run_end(const uint64_t *leaf, uint32_t index)
{
    const uint64_t marks = PAGING_SOFT_PENDING_FREE | PAGING_SOFT_COW | PAGING_SOFT_OWNING | PAGING_SOFT_MARKED |
                           PAGING_SOFT_REPLICATED;
    uint32_t i = index + 1;

    while (i < LEAF_ENTRIES && leaf[i] != 0 && ((leaf[i] ^ leaf[index]) & marks) == 0 && !zero_page_is(leaf[i]) &&
           (leaf[i] & PAGING_FRAME) == (leaf[index] & PAGING_FRAME) + (i - index) * PAGE_SIZE)
        i++;
    return i;
}

/* A member that is not the home lists only the pages that it owns; the home leaves out what is marked or
 * replicated, which a member asks for when it touches it (mm/move/lazy.md, mm/replicate/replicate.md). */
static uint32_t list_runs(struct space *space, uint64_t from, struct msg_space_listed *head)
{
    struct msg_space_run *runs = (struct msg_space_run *)(head + 1);
    bool home = space->home == instance.kernel;
    uint64_t needed = home ? 0 : PAGING_SOFT_OWNING,
             forbidden = PAGING_SOFT_PENDING_FREE | (home ? PAGING_SOFT_MARKED | PAGING_SOFT_REPLICATED : 0);
    uint32_t count = 0, tables = 0;
    const uint64_t *leaf;

    *head = (struct msg_space_listed){0};
    spin_lock(&space->lock);
    for (uint64_t va = from; (leaf = paging_next_leaf_look(&space->tables, &va, USER_END)) != NULL; va += LEAF_SIZE) {
        if (count > RUNS_MAX - LEAF_ENTRIES || tables++ == TABLES_A_PART) {
            head->next = va;
            break;
        }
        for (uint32_t i = 0; (i = paging_next_used(leaf, i, LEAF_ENTRIES)) < LEAF_ENTRIES;) {
            uint32_t end = zero_page_is(leaf[i]) ? i + 1 : run_end(leaf, i);

            if ((leaf[i] & forbidden) == 0 && !zero_page_is(leaf[i]) && (leaf[i] & needed) == needed)
                runs[count++] = (struct msg_space_run){
                    .page = va + i * PAGE_SIZE,
                    .run = SPACE_RUN(leaf[i] & PAGING_FRAME, end - i, (leaf[i] & PAGING_SOFT_COW) != 0 ? 1u : 0u)};
            i = end;
        }
    }
    spin_unlock(&space->lock);
    return (uint32_t)(sizeof(*head) + count * sizeof(*runs));
}

static void handle_list(const struct msg *m)
{
    const struct msg_space_page *ask = m->data;
    struct space *space = space_get(ask->space);
    struct long_answer *answer = NULL;
    int error = -ESRCH;

    if (space != NULL) {
        bool may = space->home == instance.kernel || space->home == m->ticket.kernel;

        answer = may ? long_answer_create(MSG_MAX) : NULL;
        error = may ? -ENOMEM : -EPROTO;
    }
    if (answer != NULL)
        long_answer_send(m, answer, answer + 1,
                         list_runs(space, ask->page, (struct msg_space_listed *)(void *)(answer + 1)));
    else
        msg_reply_error(&m->ticket, error);
    if (space != NULL)
        space_put(space);
}

/* --- the mapping kernel --- */

/* Maps the pages of a run, which may be in several areas. A page without an area is left over from an unmap that
 * failed: it must not be mapped, and the next unmap frees it. */
static int take_run(struct space *space, const struct msg_space_run *run, uint64_t flags)
{
    uint64_t frame = SPACE_RUN_FRAME(run->run), bytes = SPACE_RUN_LENGTH(run->run) * PAGE_SIZE;
    int error = 0;

    if (bytes == 0 || run->page >= USER_END || frame_owner(frame) == KERNELS_MAX ||
        frame_owner(frame + bytes - PAGE_SIZE) != frame_owner(frame))
        return -EPROTO;
    spin_lock(&space->lock);
    for (uint64_t done = 0; done < bytes && error != -ENOMEM; done += PAGE_SIZE) {
        error = space_borrow_page_locked(space, run->page + done, frame + done, SPACE_RUN_INDEX(run->run) != 0, flags);
        if (error > 0 && flags == PAGING_SOFT_PREFETCHED)
            space->stats.prefetched++;
    }
    spin_unlock(&space->lock);
    return error == -ENOMEM ? error : 0;
}

int space_list_take(struct space *space, uint32_t kernel, uint8_t *buffer, uint64_t flags)
{
    const struct msg_space_listed *head = (const struct msg_space_listed *)(const void *)buffer;
    const struct msg_space_run *runs = (const struct msg_space_run *)(head + 1);
    struct msg_space_page ask = {.space = space->id};
    int error = 0;

    do {
        int length = msg_call(kernel, MSG_SPACE_LIST, &ask, sizeof(ask), buffer, MSG_MAX, "pages of a space", kernel);

        if (length < (int)sizeof(*head))
            return length < 0 ? length : -EPROTO;
        for (size_t i = 0; i < ((size_t)length - sizeof(*head)) / sizeof(*runs) && error == 0; i++) {
            error = take_run(space, &runs[i], flags);
            slice_check();
        }
        if (error == 0 && head->next != 0 && head->next <= ask.page)
            error = -EPROTO;
        ask.page = head->next;
    } while (error == 0 && ask.page != 0);
    return error;
}

void space_list_init(void)
{
    msg_register(MSG_SPACE_LIST, handle_list, sizeof(struct msg_space_page), sizeof(struct msg_space_listed));
}
