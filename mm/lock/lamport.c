/* Locking strategy `lamport`: no single kernel decides. A requester asks every kernel that it can reach. Each that
 * hosts the space queues the request, in order of age, and answers at once. The request is granted when all have
 * answered and no older one in the requester's own queues excludes it. Popcorn thesis 5.7.4, 5.7.5. mm/lock/lamport.md
 * has the rules, to which the comments here refer, and the proof. space->lock protects the queues. */
#include "kernel/abi/errno.h"
#include "kernel/lib/list.h"
#include "kernel/lib/panic.h"
#include "kernel/wait/completion.h"
#include "mm/frame/heap.h"
#include "mm/lock/internal.h"
#include "mm/lock/lamport_queue.h"
#include "mm/lock/lock.h"
#include "mm/lock/wire.h"
#include "mm/space/space.h"
#include "msg/channel.h"
#include "msg/request/call.h"

static uint64_t requests; /* [a] number of requests in the queues of all spaces */

/* A request of another kernel. */
struct peer_request {
    struct lamport_entry entry;
    struct list node;     /* in lamport.held, or nowhere */
    uint32_t references;  /* [a] of the queue, and of an answer being sent */
    struct msg_kept kept; /* the answer that is held back */
};

static struct space_lock *own_at(struct list *node)
{
    return container_of(node, struct space_lock, lamport.node);
}

static void peer_put(struct peer_request *peer)
{
    if (__atomic_sub_fetch(&peer->references, 1, __ATOMIC_ACQ_REL) == 0)
        heap_free(peer, sizeof(*peer));
}

static void answer_gone(struct msg_kept *kept)
{
    peer_put(container_of(kept, struct peer_request, kept));
}

static bool add_locked(struct space *space, struct lamport_entry *entry)
{
    if (!lamport_add(&space->lamport.queues, entry))
        return false;
    __atomic_fetch_add(&requests, 1, __ATOMIC_RELAXED);
    return true;
}

static void remove_locked(struct lamport_entry *entry)
{
    lamport_remove(entry);
    __atomic_fetch_sub(&requests, 1, __ATOMIC_RELAXED);
}

/* Rule 4: enters if all have answered and no older request excludes this one. */
static void enter_if_first_locked(struct space_lock *own, uint32_t *notice)
{
    if (!own->lamport.answered || own->lamport.entered ||
        lamport_before(&own->lamport.space->lamport.queues, &own->lamport.entry) != NULL)
        return;
    own->lamport.entered = true;
    completion_signal_locked(&own->done, notice);
}

/* An entry has left the queues: a request here may be the next. */
static void let_others_enter_locked(struct space *space, uint32_t *notice)
{
    list_for_each(node, &space->lamport.own)
        enter_if_first_locked(own_at(node), notice);
}

/* Rule 3: true if an older request of this kernel excludes PEER and PEER's kernel has not queued it yet. */
static bool behind_own_locked(const struct space *space, const struct peer_request *peer)
{
    list_for_each(node, &space->lamport.own) {
        const struct space_lock *own = own_at(node);

        if ((own->lamport.notified >> peer->entry.kernel & 1) == 0 &&
            lamport_older(&own->lamport.entry, &peer->entry) && range_overlaps(own->range, peer->entry.range))
            return true;
    }
    return false;
}

/* Returns the answer to a request that has been queued. The members stay valid, because kernels only join. */
static struct msg_space_queued queued_locked(const struct space *space)
{
    return (struct msg_space_queued){.queued = 1, .members = space->home == instance.kernel ? space->members : 0};
}

/* A request of this kernel is over, or one more kernel has queued it: answers the held requests that it alone held
 * back. */
static void answer_held_locked(struct space *space)
{
    struct msg_space_queued queued = queued_locked(space);

    queued.queued = 2;
    list_for_each_safe(node, &space->lamport.held) {
        struct peer_request *peer = container_of(node, struct peer_request, node);

        if (behind_own_locked(space, peer))
            continue;
        list_remove(&peer->node);
        __atomic_fetch_add(&peer->references, 1, __ATOMIC_RELAXED);
        msg_kept_reply(&peer->kept, &queued, sizeof(queued), answer_gone);
    }
}

static void take_answer(void *context, uint32_t kernel, const void *reply, int length)
{
    const struct msg_space_queued *answer = reply;
    struct space_lock *own = context;
    struct space *space = own->lamport.space;

    spin_lock(&space->lock);
    if (length != (int)sizeof(*answer)) {
        own->error = length < 0 ? length : -EPROTO;
    } else if (answer->queued != 0) {
        own->lamport.notified |= 1ull << kernel;
        own->lamport.put_off = own->lamport.put_off || answer->queued == 2;
        own->lamport.members |= kernel == space->home ? answer->members : 0;
        answer_held_locked(space);
    }
    spin_unlock(&space->lock);
}

/* Rule 1. The time is drawn before the set of reachable kernels is read: a kernel that starts or joins after that is
 * not asked, but the requests that it makes are later than this one. */
static bool lamport_begin_locked(struct space *space, struct space_lock *own)
{
    uint64_t time = msg_time();

    own->error = 0;
    own->lamport.entry.range = own->range;
    own->lamport.entry.time = time;
    own->lamport.entry.kernel = instance.kernel;
    own->lamport.space = space;
    own->lamport.notified = own->lamport.members = 0;
    own->lamport.answered = own->lamport.entered = own->lamport.put_off = false;
    if (!add_locked(space, &own->lamport.entry))
        panic("mm: time %lx was drawn twice", (unsigned long)time);
    list_append(&space->lamport.own, &own->lamport.node);
    completion_init(&own->done);
    own->lamport.asked = space->home == instance.kernel && space->members == 1ull << instance.kernel
                             ? 0
                             : msg_peers_reachable();
    if (own->lamport.asked == 0 && lamport_before(&space->lamport.queues, &own->lamport.entry) == NULL)
        own->lamport.answered = own->lamport.entered = true;
    own->sharers = space->members;
    return own->lamport.entered;
}

/* Rule 6, first half: leaves the queues of this kernel. */
static void lamport_end_locked(struct space *space, struct space_lock *own, uint32_t *notice)
{
    remove_locked(&own->lamport.entry);
    list_remove(&own->lamport.node);
    let_others_enter_locked(space, notice);
    answer_held_locked(space);
}

static struct msg_space_request message_of(const struct space *space, const struct space_lock *own)
{
    return (struct msg_space_request){
        .space = space->id, .start = own->range.start, .end = own->range.end, .time = own->lamport.entry.time};
}

/* Rule 6, second half: notifies the kernels that have queued the request. */
static void lamport_notify(struct space *space, const struct space_lock *own)
{
    struct msg_space_request freed = message_of(space, own);

    for (kernel_set notified = own->lamport.notified; notified != 0; notified &= notified - 1)
        msg_notify((uint32_t)__builtin_ctzll(notified), MSG_SPACE_FREED, &freed, sizeof(freed));
}

/* All have answered: waits until the request can enter. If an answer was an error, withdraws the request and returns
 * that error, mostly -ENOMEM. A request that only tries is withdrawn, too, if an older one is in its way: -EAGAIN
 * (rule 5). */
static int enter(struct space *space, struct space_lock *own)
{
    struct wait_reason reason = {.what = "address space lock", .kernel = -1, .key = own->range.start};
    const struct lamport_entry *before;
    uint32_t notice = 0;
    int error;

    spin_lock(&space->lock);
    before = lamport_before(&space->lamport.queues, &own->lamport.entry);
    error = own->error != 0 ? own->error : own->tries && before != NULL ? -EAGAIN : 0;
    if (error != 0) {
        lamport_end_locked(space, own, &notice);
    } else {
        own->lamport.answered = true;
        if (before != NULL || own->lamport.put_off)
            space_count_wait_locked(space, own->range);
        if (before != NULL && before->kernel != instance.kernel)
            reason.kernel = (int32_t)before->kernel;
        enter_if_first_locked(own, &notice);
        space->members |=
            own->lamport.members;      /* members only grow, and a later request may have noted its own before */
        own->sharers = space->members; /* the home's directory is read before older requests are over: not used */
    }
    spin_unlock(&space->lock);
    completion_notify(notice);
    if (error != 0)
        lamport_notify(space, own);
    else
        msg_wait(&own->done, &reason);
    return error;
}

static int lamport_wait(struct space *space, struct space_lock *own)
{
    struct msg_space_request request = message_of(space, own);

    if (own->lamport.asked != 0)
        msg_gather(own->lamport.asked, MSG_SPACE_REQUEST, &request, sizeof(request), take_answer, own,
                   "answers for an address space lock", request.start);
    return enter(space, own);
}

static uint64_t lamport_busy_locked(const struct space *space, uint64_t start, uint64_t end)
{
    return lamport_lowest(&space->lamport.queues, start, end);
}

static bool lamport_taken_locked(const struct space *space, uint64_t start, uint64_t end)
{
    return lamport_taken(&space->lamport.queues, start, end);
}

static void lamport_begin(struct space *space)
{
    list_init(&space->locks);
    lamport_init(&space->lamport.queues);
    list_init(&space->lamport.own);
    list_init(&space->lamport.held);
}

/* The remaining requests are of other kernels and over: their SPACE_FREED are under way and find nothing. */
static void lamport_end(struct space *space)
{
    struct lamport_entry *entry;

    assert(list_empty(&space->lamport.own) && list_empty(&space->lamport.held));
    while ((entry = lamport_any(&space->lamport.queues)) != NULL) {
        remove_locked(entry);
        peer_put(container_of(entry, struct peer_request, entry));
    }
}

static uint64_t lamport_count(void)
{
    return __atomic_load_n(&requests, __ATOMIC_RELAXED);
}

/* Refuses a malformed range, a time that is not before the sending of the message, and a request that this kernel as a
 * relay hands to itself. */
static bool request_valid(const struct msg *m)
{
    const struct msg_space_request *ask = m->data;

    return space_locking == &space_lock_lamport && m->ticket.kernel != instance.kernel && ask->start < ask->end &&
           ask->start % PAGE_SIZE == 0 && (ask->end % PAGE_SIZE == 0 || ask->end == SPACE_HEAVY.end) &&
           ask->time < m->time;
}

/* Rule 2: queues the request, and answers it unless rule 3 holds the answer back. -ENOMEM; -EPROTO: it is queued
 * already. */
static int queue_request(struct space *space, const struct msg *m)
{
    const struct msg_space_request *ask = m->data;
    struct peer_request *peer = heap_alloc(sizeof(*peer));
    struct msg_space_queued queued;
    bool added;

    if (peer == NULL)
        return -ENOMEM;
    peer->entry.range = (struct space_range){ask->start, ask->end};
    peer->entry.time = ask->time;
    peer->entry.kernel = m->ticket.kernel;
    peer->references = 1;
    list_init(&peer->node);
    spin_lock(&space->lock);
    added = add_locked(space, &peer->entry);
    queued = queued_locked(space);
    if (added && behind_own_locked(space, peer)) {
        list_append(&space->lamport.held, &peer->node);
        msg_keep(m, &peer->kept, NULL);
    } else if (added) {
        msg_reply(&m->ticket, &queued, sizeof(queued));
    }
    spin_unlock(&space->lock);
    if (!added)
        peer_put(peer);
    return added ? 0 : -EPROTO;
}

static void handle_request(const struct msg *m)
{
    static const struct msg_space_queued not_here = {0};
    const struct msg_space_request *ask = m->data;
    struct space *space = space_get(ask->space);
    int error;

    if (space == NULL) {
        msg_reply(&m->ticket, &not_here, sizeof(not_here));
        return;
    }
    error = request_valid(m) ? queue_request(space, m) : -EPROTO;
    space_put(space);
    if (error != 0)
        msg_reply_error(&m->ticket, error);
}

static void handle_freed(const struct msg *m)
{
    const struct msg_space_request *freed = m->data;
    struct space *space = space_locking == &space_lock_lamport ? space_get(freed->space) : NULL;
    struct lamport_entry *entry;
    struct peer_request *peer = NULL;
    uint32_t notice = 0;

    if (space == NULL)
        return;
    spin_lock(&space->lock);
    entry = lamport_find(&space->lamport.queues, (struct space_range){freed->start, freed->end}, freed->time,
                         m->ticket.kernel);
    if (entry != NULL && list_empty(&container_of(entry, struct peer_request, entry)->node)) {
        peer = container_of(entry, struct peer_request, entry);
        remove_locked(entry);
        let_others_enter_locked(space, &notice);
    }
    spin_unlock(&space->lock);
    completion_notify(notice);
    if (peer != NULL)
        peer_put(peer);
    space_put(space);
}

void space_lock_lamport_init(void)
{
    msg_register(MSG_SPACE_REQUEST, handle_request, sizeof(struct msg_space_request), sizeof(struct msg_space_queued));
    msg_register(MSG_SPACE_FREED, handle_freed, sizeof(struct msg_space_request), 0);
}

const struct space_locking space_lock_lamport = {.name = "lamport",
                                                 .begin_locked = lamport_begin_locked,
                                                 .wait = lamport_wait,
                                                 .end_locked = lamport_end_locked,
                                                 .notify = lamport_notify,
                                                 .busy_locked = lamport_busy_locked,
                                                 .taken_locked = lamport_taken_locked,
                                                 .begin = lamport_begin,
                                                 .end = lamport_end,
                                                 .count = lamport_count};
