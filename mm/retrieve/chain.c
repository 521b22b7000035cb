/* Retrieval strategy `chain` (Popcorn thesis 8.2.1): one query travels from member to member until one has the frame,
 * and carries the best answer so far; the last kernel sends the answer to the asking one. It takes at most as many
 * messages as there are members, one after the other.
 *
 * Queries and answers are notices. Until the ring has room for one, it is in one of PLACES buffers, or in the heap. A
 * kernel that has not even the heap's reserve drops it, and whoever asked asks again after AGAIN: a query changes
 * nothing. If a kernel that was to be asked has died by then, the query has failed: only that one may have had the
 * frame. */
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/lib/list.h"
#include "kernel/lib/string.h"
#include "kernel/wait/completion.h"
#include "mm/frame/heap.h"
#include "mm/page/install.h"
#include "mm/retrieve/internal.h"
#include "mm/retrieve/wire.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/channel.h"
#include "msg/request/call.h"

#define PLACES 16u
#define AGAIN 1000000000ull /* ns */

struct notice {
    struct msg_outgoing outgoing;
    bool used; /* [k] lock: only for the PLACES buffers */
    union {
        struct msg_space_query query;
        struct msg_space_found found;
    } payload;
};

static struct spinlock lock; /* taken alone */
static struct notice places[PLACES];

static struct notice *notice_take(void)
{
    struct notice *notice = NULL;

    spin_lock(&lock);
    for (uint32_t i = 0; i < PLACES && notice == NULL; i++) {
        if (!places[i].used)
            notice = &places[i];
    }
    if (notice != NULL)
        notice->used = true;
    spin_unlock(&lock);
    if (notice == NULL)
        notice = heap_alloc_sure(sizeof(*notice));
    return notice;
}

static void notice_gone(struct msg_outgoing *outgoing)
{
    struct notice *notice = container_of(outgoing, struct notice, outgoing);

    if (notice < places || notice >= places + PLACES) {
        heap_free(notice, sizeof(*notice));
        return;
    }
    spin_lock(&lock);
    notice->used = false;
    spin_unlock(&lock);
}

/* Sends QUERY to the next of its remaining kernels, and removes that kernel from it. */
static void query_send(const struct msg_space_query *query)
{
    struct notice *notice = notice_take();
    uint32_t next = (uint32_t)__builtin_ctzll(query->rest);

    if (notice == NULL)
        return;
    notice->payload.query = *query;
    notice->payload.query.rest &= query->rest - 1;
    msg_post(&notice->outgoing, next, MSG_SPACE_QUERY, &notice->payload.query, sizeof(notice->payload.query),
             notice_gone);
}

static void found_send(const struct msg_space_query *query, const struct msg_space_mapping *best)
{
    struct notice *notice = notice_take();

    if (notice == NULL)
        return;
    notice->payload.found = (struct msg_space_found){.query = query->query,
                                                     .space = query->space,
                                                     .frame = best->frame,
                                                     .kind = (uint16_t)best->kind,
                                                     .cow = (uint8_t)best->cow,
                                                     .marked = (uint8_t)best->marked,
                                                     .prot = best->prot,
                                                     .backing = best->backing};
    msg_post(&notice->outgoing, query->asker, MSG_SPACE_FOUND, &notice->payload.found, sizeof(notice->payload.found),
             notice_gone);
}

static void handle_query(const struct msg *m)
{
    struct msg_space_query query;
    struct msg_space_mapping mapping = {.kind = SPACE_NONE};
    struct space *space;

    memcpy(&query, m->data, sizeof(query));
    if (query.asker >= instance.kernels || query.asker == instance.kernel || query.kind > SPACE_AREA ||
        (instance.kernels < 64 && query.rest >> instance.kernels != 0) || (query.rest >> instance.kernel & 1) != 0)
        return; /* no correct kernel sends this */
    space = space_get(query.space);
    if (space != NULL) {
        space_answer(space, query.page, &mapping);
        space_put(space);
    }
    if (mapping.kind < query.kind)
        mapping = (struct msg_space_mapping){.kind = SPACE_AREA, .prot = query.prot, .backing = query.known};
    if (mapping.kind == SPACE_FRAME || query.rest == 0) {
        found_send(&query, &mapping);
        return;
    }
    query.kind = (uint16_t)mapping.kind;
    query.prot = mapping.prot;
    query.known = mapping.backing;
    query_send(&query);
}

/* A query for which a task here waits. */
struct asked {
    struct list node; /* [k] space->lock: in space->queries */
    uint64_t number;
    struct msg_space_mapping *answer;
    struct completion done;
};

static void handle_found(const struct msg *m)
{
    const struct msg_space_found *found = m->data;
    struct space *space = space_get(found->space);
    struct asked *asked = NULL;

    if (space == NULL)
        return;
    spin_lock(&space->lock);
    list_for_each(node, &space->queries) {
        asked = container_of(node, struct asked, node);
        if (asked->number == found->query)
            break;
        asked = NULL;
    }
    if (asked != NULL && found->kind <= SPACE_FRAME) {
        asked->answer->kind = found->kind;
        asked->answer->prot = found->prot;
        asked->answer->frame = found->frame;
        asked->answer->cow = found->cow;
        asked->answer->marked = found->marked;
        asked->answer->backing = found->backing;
        list_remove(&asked->node);
        completion_signal(&asked->done);
    }
    spin_unlock(&space->lock);
    space_put(space);
}

static int chain_fetch(struct space *space, uint64_t page, struct msg_space_mapping *answer)
{
    struct msg_space_query query = {.space = space->id, .page = page, .asker = (uint16_t)instance.kernel};
    struct wait_reason reason = {.what = "mapping fetch", .kernel = -1, .key = page};
    struct asked asked = {.answer = answer};
    kernel_set once = 0; /* all that have been asked */
    bool lost = false;

    memset(answer, 0, sizeof(*answer));
    completion_init(&asked.done);
    list_init(&asked.node);
    do {
        spin_lock(&space->lock);
        query.rest = space->members & ~(1ull << instance.kernel);
        query.query = asked.number = ++space->query_count;
        list_remove(&asked.node);
        once |= query.rest;
        lost = (once & ~msg_peers_reachable()) != 0;
        if (query.rest != 0 && !lost && !asked.done.done)
            list_append(&space->queries, &asked.node);
        spin_unlock(&space->lock);
        if (query.rest == 0 || lost)
            break;
        query_send(&query);
    } while (!msg_wait_until(&asked.done, &reason, clock_now() + AGAIN));
    if (lost && !asked.done.done)
        return -EHOSTDOWN;
    space_add_own_area(space, page, answer);
    return 0;
}

static void chain_init(void)
{
    msg_register(MSG_SPACE_QUERY, handle_query, sizeof(struct msg_space_query), 0);
    msg_register(MSG_SPACE_FOUND, handle_found, sizeof(struct msg_space_found), 0);
}

const struct space_retrieval space_retrieve_chain = {.name = "chain",
                                                     .init = chain_init,
                                                     .fetch = chain_fetch,
                                                     .record = space_record_nothing,
                                                     .record_many = space_record_none_of_many};
