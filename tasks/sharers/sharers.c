/* Spaces that share a page which moves. See the header. One implementation serves movers of this kernel and of others;
 * while a run of pages is locked for a mover, it is in a list here, by the mover's kernel and token, and the process is
 * pinned, so that it neither ends nor runs another program. */
#include "tasks/sharers/sharers.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/list.h"
#include "mm/area/area.h"
#include "mm/frame/heap.h"
#include "mm/move/move.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "msg/slice.h"
#include "tasks/process/group.h"
#include "tasks/process/process.h"
#include "tasks/remote/operation.h"
#include "tasks/sharers/wire.h"

#define FOUND_MAX 64u
#define AREAS_AT_ONCE 256u /* that a search goes through under space->lock */

/* --- the home of a space --- */

struct held {
    struct list node;
    uint32_t kernel;                  /* [i] of the mover */
    uint64_t token;                   /* [i] its */
    struct group *host;               /* [i] pinned */
    struct moving *moving;            /* [i] */
    uint64_t pages;                   /* [i] a bit for each page of the run */
    bool still;                       /* [k] from SPACE_STILL to SPACE_WRITABLE */
    bool busy;                        /* [k] a worker performs a round */
    bool lost;                        /* [k] meanwhile the mover's kernel has died */
    void (*end)(struct group *group); /* [k] if so: for a group in which pages were moving */
};

static struct spinlock lock;
static struct list all; /* [k] lock: struct held */

/* Finds NAME in SPACE from *START on, in slices; *COPIES: in a private area. An area that is made, or moves, meanwhile
 * may be missed, as if a little later. */
static bool find_page(struct space *space, uint64_t name, uint64_t *start, bool *copies)
{
    bool found;

    do {
        spin_lock(&space->lock);
        found = area_find_page(&space->areas, name, start, AREAS_AT_ONCE);
        *copies = found && (area_find(&space->areas, *start)->prot & AREA_SHARED) == 0;
        spin_unlock(&space->lock);
        slice_check();
    } while (!found && *start != UINT64_MAX);
    return found;
}

/* Whether SPACE maps the page NAME at START. */
static bool has_page(struct space *space, uint64_t name, uint64_t start)
{
    uint64_t found = start;
    bool has;

    spin_lock(&space->lock);
    has = area_find_page(&space->areas, name, &found, 1) && found == start;
    spin_unlock(&space->lock);
    return has;
}

struct finding {
    uint64_t name;
    struct msg_share_found *found;
    uint32_t count;
};

/* A process that vfork has made has its parent's space until it runs a program. */
static bool is_new(const struct finding *finding, uint64_t space)
{
    for (uint32_t i = 0; i < finding->count; i++) {
        if (finding->found[i].space == space)
            return false;
    }
    return true;
}

static bool find_in(struct group *group, void *context)
{
    struct finding *finding = context;
    struct group *host;
    uint64_t start = 0;
    bool copies, new;

    slice_check();
    if (group->process == NULL || group->home != instance.kernel || group_pin(group, &host) != 0)
        return true; /* the group has another home, or is ending */
    new = is_new(finding, host->space->id);
    for (; new && finding->count < FOUND_MAX &&find_page(host->space, finding->name, &start, &copies);
         start += PAGE_SIZE)
        finding->found[finding->count++] = (struct msg_share_found){host->space->id,
                                                                    start | (copies ? SHARE_COPIES : 0)};
    group_unpin(host);
    return finding->count < FOUND_MAX;
}

static int run_find(const struct remote_request *request, void *result)
{
    struct finding finding = {((const struct msg_share_find *)request->data)->name, result, 0};

    group_each(find_in, &finding);
    return (int)(finding.count * sizeof(finding.found[0]));
}

static int room_find(const struct remote_request *request)
{
    (void)request;
    return (int)(FOUND_MAX * sizeof(struct msg_share_found));
}

/* Ends the run, which is in no list any more. A group whose page may differ from that of others is ended before its
 * threads may write again. */
static void let_go(struct held *held)
{
    if (held->still && held->lost)
        held->end(held->host);
    if (held->still)
        space_move_round(held->moving, MSG_SPACE_WRITABLE, held->pages, 0);
    space_move_leave(held->moving);
    group_unpin(held->host);
    heap_free(held, sizeof(*held));
}

static struct held *find_held_locked(uint32_t kernel, uint64_t token)
{
    list_for_each(node, &all) {
        struct held *held = container_of(node, struct held, node);

        if (held->kernel == kernel && held->token == token)
            return held;
    }
    return NULL;
}

static bool begin_is_valid(const struct msg_share_begin *ask)
{
    return ask->count > 0 && ask->count <= SPACE_CHOSEN_MAX;
}

/* Locks the run, and puts it into the list. */
static int begin(const struct remote_request *request, struct held *held, uint64_t *words)
{
    const struct msg_share_begin *ask = request->data;
    struct group *group = group_find((uint32_t)ask->space);
    bool lost;
    int error = group == NULL || group->process == NULL ? -ESRCH : group_pin(group, &held->host);

    if (group != NULL)
        group_put(group);
    if (error != 0)
        return error;
    if (held->host->space->id != ask->space || held->host->space->home != instance.kernel ||
        !has_page(held->host->space, ask->name, ask->start))
        error = -ESRCH;
    if (error == 0)
        error = space_move_join(held->host->space, ask->start, (uint32_t)ask->count, &held->moving, words);
    if (error != 0) {
        group_unpin(held->host);
        return error;
    }
    held->kernel = request->kernel;
    held->token = ask->token;
    held->pages = ask->count < 64 ? (1ull << ask->count) - 1 : UINT64_MAX;
    spin_lock(&lock);
    list_append(&all, &held->node);
    lost = held->kernel != instance.kernel && !msg_peer_reachable(held->kernel);
    if (lost)
        list_remove(&held->node);
    spin_unlock(&lock);
    if (lost)
        let_go(held);
    return lost ? -EHOSTDOWN : 0;
}

static int run_begin(const struct remote_request *request, void *result)
{
    const struct msg_share_begin *ask = request->data;
    struct held *held;
    int error;

    if (!begin_is_valid(ask))
        return -EPROTO;
    held = heap_alloc(sizeof(*held));
    if (held == NULL)
        return -ENOMEM;
    error = begin(request, held, result);
    if (error == -EHOSTDOWN) /* it is freed, and nobody waits for the answer */
        return error;
    if (error != 0)
        heap_free(held, sizeof(*held));
    return error != 0 ? error : (int)(ask->count * sizeof(struct msg_share_word));
}

static int room_begin(const struct remote_request *request)
{
    const struct msg_share_begin *ask = request->data;

    return begin_is_valid(ask) ? (int)(ask->count * sizeof(struct msg_share_word)) : -EPROTO;
}

static int run_round(const struct remote_request *request, void *result)
{
    const struct msg_share_round *ask = request->data;
    struct held *held;
    bool lost;
    int error;

    (void)result;
    if (ask->operation != MSG_SPACE_STILL && ask->operation != MSG_SPACE_REPLACE &&
        ask->operation != MSG_SPACE_WRITABLE)
        return -EPROTO;
    spin_lock(&lock);
    held = find_held_locked(request->kernel, ask->token);
    if (held != NULL && (held->busy || (ask->chosen & ~held->pages) != 0))
        held = NULL;
    if (held != NULL) {
        held->busy = true;
        held->still |= ask->operation == MSG_SPACE_STILL;
    }
    spin_unlock(&lock);
    if (held == NULL)
        return -EPROTO;
    error = space_move_round(held->moving, (enum msg_type)ask->operation, ask->chosen, ask->frame);
    spin_lock(&lock);
    held->busy = false;
    held->still &= ask->operation != MSG_SPACE_WRITABLE;
    lost = held->lost;
    if (lost)
        list_remove(&held->node);
    spin_unlock(&lock);
    if (lost)
        let_go(held);
    return error;
}

static int run_end(const struct remote_request *request, void *result)
{
    struct held *held;

    (void)result;
    spin_lock(&lock);
    held = find_held_locked(request->kernel, ((const struct msg_share_end *)request->data)->token);
    if (held != NULL && held->busy)
        held = NULL;
    if (held != NULL)
        list_remove(&held->node);
    spin_unlock(&lock);
    if (held == NULL)
        return -EPROTO;
    let_go(held);
    return 0;
}

void sharers_lost(uint32_t kernel, void (*end)(struct group *group))
{
    struct held *lost;

    do {
        lost = NULL;
        spin_lock(&lock);
        list_for_each(node, &all) {
            struct held *held = container_of(node, struct held, node);

            if (held->kernel != kernel)
                continue;
            held->lost = true; /* whoever is busy with it lets it go */
            held->end = end;
            if (!held->busy)
                lost = held;
        }
        if (lost != NULL)
            list_remove(&lost->node);
        spin_unlock(&lock);
        if (lost != NULL)
            let_go(lost);
        slice_check();
    } while (lost != NULL);
}

/* --- the mover --- */

struct gathering {
    struct space_sharer *sharers;
    uint32_t count, most;
};

static void note_found(void *context, uint32_t kernel, const void *reply, int length)
{
    const struct msg_share_found *found = reply;
    struct gathering *gathering = context;

    for (int i = 0; (i + 1) * (int)sizeof(*found) <= length; i++) {
        uint64_t start = found[i].start & ~SHARE_COPIES;

        if ((start & (PAGE_SIZE - 1)) != 0 || start >= USER_END || gathering->count == gathering->most)
            continue;
        gathering->sharers[gathering->count++] = (struct space_sharer){
            .space = found[i].space, .start = start, .home = kernel, .copies = start != found[i].start};
    }
}

static uint32_t find(uint64_t name, struct space_sharer *sharers, uint32_t most)
{
    struct gathering gathering = {sharers, 0, most};
    struct msg_share_find ask = {name};
    struct msg_share_found *found = heap_alloc_unset(FOUND_MAX * sizeof(*found));
    struct remote_request own = {
        .type = MSG_SHARE_FIND, .kernel = instance.kernel, .task = true, .length = sizeof(ask), .data = &ask};

    if (found == NULL)
        return 0;
    note_found(&gathering, instance.kernel, found, run_find(&own, found));
    heap_free(found, FOUND_MAX * sizeof(*found));
    msg_gather(msg_peers_reachable(), MSG_SHARE_FIND, &ask, sizeof(ask), note_found, &gathering,
               "spaces that share a page", name);
    return gathering.count;
}

static int call(const struct space_sharer *sharer, enum msg_type type, const void *ask, uint32_t length, void *result,
                uint32_t room)
{
    const struct remote_how how = {.why = "move of a page that is shared", .key = sharer->start};

    return remote_call(sharer->home, type, ask, length, result, room, &how);
}

/* The same for what must be done once a page is still: tried until both kernels have memory for the message. */
static int call_surely(const struct space_sharer *sharer, enum msg_type type, const void *ask, uint32_t length)
{
    const struct remote_how how = {.why = "end of a move of a page that is shared", .key = sharer->start, .sure = true};
    int answer;

    do {
        answer = remote_call(sharer->home, type, ask, length, NULL, 0, &how);
    } while (answer == -ENOMEM);
    return answer;
}

static void end_elsewhere(const struct space_sharer *sharer)
{
    struct msg_share_end ask = {sharer->token};

    call_surely(sharer, MSG_SHARE_END, &ask, sizeof(ask));
}

static int begin_elsewhere(struct space_sharer *sharer, uint64_t name, uint32_t count, uint64_t *words)
{
    static uint64_t tokens; /* [a] */
    struct msg_share_begin ask = {__atomic_add_fetch(&tokens, 1, __ATOMIC_RELAXED), sharer->space, name, sharer->start,
                                  count};
    int size = (int)(count * sizeof(words[0]));
    int length = call(sharer, MSG_SHARE_BEGIN, &ask, sizeof(ask), words, (uint32_t)size);

    sharer->token = ask.token;
    if (length == size)
        return 0;
    /* An answer that this kernel had no memory for is lost, and the run is locked. */
    if (length != -ESRCH && length != -EAGAIN)
        end_elsewhere(sharer);
    return length < 0 ? length : -EPROTO;
}

static int round_elsewhere(const struct space_sharer *sharer, enum msg_type operation, uint64_t chosen, uint64_t frame)
{
    struct msg_share_round ask = {sharer->token, operation, chosen, frame};
    int length = operation == MSG_SPACE_STILL ? call(sharer, MSG_SHARE_ROUND, &ask, sizeof(ask), NULL, 0)
                                              : call_surely(sharer, MSG_SHARE_ROUND, &ask, sizeof(ask));

    /* A living home may pass on that a member does not know the space. */
    if (length == -ESRCH && sharer->home != instance.kernel && !msg_peer_reachable(sharer->home))
        return -EHOSTDOWN;
    return length < 0 ? length : 0;
}

void sharers_init(void)
{
    static const struct space_sharing how = {find, begin_elsewhere, round_elsewhere, end_elsewhere};

    list_init(&all);
    REMOTE_SERVE_TASK(SHARE_FIND, WORK_LEAF, run_find, room_find, struct msg_share_find, struct msg_none);
    REMOTE_SERVE_TASK(SHARE_BEGIN, WORK_SHARE, run_begin, room_begin, struct msg_share_begin, struct msg_share_word);
    REMOTE_SERVE_TASK(SHARE_ROUND, WORK_ROUND, run_round, NULL, struct msg_share_round, struct msg_none);
    REMOTE_SERVE_TASK(SHARE_END, WORK_ROUND, run_end, NULL, struct msg_share_end, struct msg_none);
    space_move_share_by(&how);
}
