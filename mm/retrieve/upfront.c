/* Retrieval strategy `upfront` (Popcorn thesis 5.7.2, which its author gave up): a kernel that begins to host a space
 * gets all its areas and pages at once, before a thread goes on there. What comes later is asked of the home as with
 * the strategy home, whose page tables are the directory. */
#include "mm/retrieve/upfront.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/window.h"
#include "mm/frame/heap.h"
#include "mm/frame/reference.h"
#include "mm/lock/lock.h"
#include "mm/page/question.h"
#include "mm/page/zero_page.h"
#include "mm/retrieve/internal.h"
#include "mm/retrieve/wire.h"
#include "mm/space/entry.h"
#include "mm/space/wire.h"
#include "msg/call.h"
#include "msg/channel.h"
#include "msg/long_answer.h"

#define RUNS_MAX ((LONG_ANSWER_MAX - sizeof(struct msg_space_listed)) / sizeof(struct msg_space_run))
#define TABLES_A_PART 64u /* looked at under the lock for one answer */
#define TABLES_A_POLL 16u /* whose pages are mapped before this kernel looks for messages */

/* --- whoever lists --- */

/* The end of the run of pages that begins at INDEX: with frames one behind the other, and alike. */
static uint32_t run_end(const uint64_t *leaf, uint32_t index)
{
    uint64_t kind = leaf[index] & (PAGING_SOFT_LIMBO | PAGING_SOFT_COW | PAGING_SOFT_HELD);
    uint32_t i = index + 1;

    while (i < LEAF_ENTRIES && leaf[i] != 0 &&
           (leaf[i] & (PAGING_SOFT_LIMBO | PAGING_SOFT_COW | PAGING_SOFT_HELD)) == kind && !zero_page_is(leaf[i]) &&
           (leaf[i] & PAGING_FRAME) == (leaf[index] & PAGING_FRAME) + (i - index) * PAGE_SIZE)
        i++;
    return i;
}

/* Of a member that is not the home: what it holds. */
static uint32_t list_runs(struct space *space, uint64_t from, struct msg_space_listed *head)
{
    struct msg_space_run *runs = (struct msg_space_run *)(head + 1);
    uint64_t needed = space->home == instance.kernel ? 0 : PAGING_SOFT_HELD;
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

            if ((leaf[i] & PAGING_SOFT_LIMBO) == 0 && !zero_page_is(leaf[i]) && (leaf[i] & needed) == needed)
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

/* --- the kernel that begins --- */

static int take_areas(struct space *space, uint8_t *buffer)
{
    const struct msg_space_areas *head = (const struct msg_space_areas *)(const void *)buffer;
    struct msg_space_page ask = {.space = space->id};
    int error = 0;

    do {
        int length = msg_call(space->home, MSG_SPACE_AREAS, &ask, sizeof(ask), buffer, MSG_MAX, "areas of a space", 0);
        const struct msg_space_area *areas = (const struct msg_space_area *)(head + 1);

        if (length < (int)sizeof(*head))
            return length < 0 ? length : -EPROTO;
        spin_lock(&space->lock);
        for (size_t i = 0; i < ((size_t)length - sizeof(*head)) / sizeof(*areas) && error == 0; i++)
            error = area_set_backed(&space->areas, areas[i].start, areas[i].end, (uint32_t)areas[i].prot,
                                    areas[i].backing);
        spin_unlock(&space->lock);
        if (error == 0 && head->next != 0 && head->next <= ask.page)
            error = -EPROTO;
        ask.page = head->next;
    } while (error == 0 && ask.page != 0);
    return error;
}

static int take_page_locked(struct space *space, uint64_t page, uint64_t frame, bool cow)
{
    const struct area *area = area_find(&space->areas, page);
    uint64_t *entry = area != NULL ? paging_entry(&space->tables, page, true) : NULL;

    if (entry == NULL)
        return area != NULL ? -ENOMEM : -EPROTO;
    if (*entry == 0) {
        *entry = frame | space_page_flags(area->prot, cow) | PAGING_SOFT_PREFETCHED |
                 (window_owns(frame, PAGE_SIZE) ? 0 : PAGING_SOFT_BORROWED);
        space->stats.prefetched++;
    }
    return 0;
}

/* A run may lie in several areas. */
static int take_run(struct space *space, const struct msg_space_run *run)
{
    uint64_t frame = SPACE_RUN_FRAME(run->run), bytes = SPACE_RUN_LENGTH(run->run) * PAGE_SIZE;
    int error = 0;

    if (bytes == 0 || frame_owner(frame) == KERNELS_MAX || frame_owner(frame + bytes - PAGE_SIZE) != frame_owner(frame))
        return -EPROTO;
    spin_lock(&space->lock);
    for (uint64_t done = 0; done < bytes && error == 0; done += PAGE_SIZE)
        error = take_page_locked(space, run->page + done, frame + done, SPACE_RUN_INDEX(run->run) != 0);
    spin_unlock(&space->lock);
    return error;
}

static int take_pages(struct space *space, uint8_t *buffer)
{
    const struct msg_space_listed *head = (const struct msg_space_listed *)(const void *)buffer;
    struct msg_space_page ask = {.space = space->id};
    uint32_t tables = 0;
    int error = 0;

    do {
        int length = msg_call(space->home, MSG_SPACE_LIST, &ask, sizeof(ask), buffer, MSG_MAX, "pages of a space", 0);
        const struct msg_space_run *runs = (const struct msg_space_run *)(head + 1);

        if (length < (int)sizeof(*head))
            return length < 0 ? length : -EPROTO;
        for (size_t i = 0; i < ((size_t)length - sizeof(*head)) / sizeof(*runs) && error == 0; i++) {
            error = take_run(space, &runs[i]);
            if (++tables % TABLES_A_POLL == 0)
                msg_poll();
        }
        if (error == 0 && head->next != 0 && head->next <= ask.page)
            error = -EPROTO;
        ask.page = head->next;
    } while (error == 0 && ask.page != 0);
    return error;
}

int space_fill(struct space *space)
{
    uint8_t *buffer = heap_alloc(MSG_MAX);
    int error = buffer != NULL ? space_acquire(space, SPACE_HEAVY) : -ENOMEM;

    if (error == 0) {
        space_gets_await(space, SPACE_HEAVY);
        if (!space->filled) { /* another thread may have been here */
            error = take_areas(space, buffer);
            if (error == 0)
                error = take_pages(space, buffer);
            space->filled = true;
        }
        space_release(space, SPACE_HEAVY);
    }
    heap_free(buffer, MSG_MAX);
    return error;
}

void space_retrieve_upfront_init(void)
{
    msg_register(MSG_SPACE_LIST, handle_list, sizeof(struct msg_space_page), sizeof(struct msg_space_listed));
}

const struct space_retrieval space_retrieve_upfront = {.name = "upfront",
                                                       .fetch = space_fetch_home,
                                                       .record = space_record_home,
                                                       .record_many = space_record_many_home,
                                                       .home_knows = true,
                                                       .fills = true};
