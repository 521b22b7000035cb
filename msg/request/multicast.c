/* One request to many kernels, with all answers gathered. Up to DIRECT kernels are asked directly. A larger set is
 * divided by node into at most FAN parts; the first kernel of a part is asked to relay: it asks the others of its part
 * in the same way, handles the request itself, and returns all answers in one message. So the asker sends and receives
 * at most DIRECT messages, and only one request and one answer for each part cross between nodes.
 *
 * A relay needs memory for the answers. Without it, it refuses, and the asker asks those kernels itself; so it does if
 * the relay dies, which may have asked them before: requests that are multicast may be handled twice. */
#include "msg/request/multicast.h"

#include "kernel/abi/errno.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "msg/channel_internal.h"
#include "msg/request/call.h"
#include "msg/wire.h"

#define FAN 8u     /* parts of a set that is divided */
#define DIRECT 16u /* kernels that are asked without a relay: up to here a relay costs more than it saves */
#define ERRNO_MAX 4095
#define SPARE_SIZE 4096u

struct round;

/* The kernels to which one message goes. */
struct part {
    struct round *round; /* [i] */
    kernel_set set;      /* [i] the first one is asked; if there are more, to relay */
    struct msg_asking asking;
};

/* One round of requests, by a task or by a relay. The payloads for its relays follow it in memory. */
struct round {
    struct spinlock lock;
    uint32_t left;       /* [k] lock: answers still to come, plus one until all requests are sent */
    uint32_t reply_size; /* [i] bytes of a valid answer */
    msg_answer each;
    void *context;                         /* [i] of EACH, which is called under lock */
    void (*finished)(struct round *round); /* [i] called when all answers have arrived */
    struct part parts[DIRECT];
};

static uint8_t by_node[KERNELS_MAX]; /* [i] the kernels of the plan, ordered by node */

static uint32_t node_of(uint32_t kernel)
{
    return instance.plan.kernels[kernel].node;
}

/* Cuts the kernels of SET, in order of their nodes, into runs of at most MOST. NODES: a run does not cross a border of
 * nodes. ALONE: each kernel of this node is a run of its own (KERNELS_MAX: none). Returns the number of runs, or LIMIT
 * + 1 if there are more than LIMIT. */
static uint32_t cut(kernel_set set, uint32_t limit, uint32_t most, bool nodes, uint32_t alone, kernel_set *parts)
{
    uint32_t runs = 0, length = 0, node = 0;

    for (uint32_t i = 0; set != 0; i++) {
        uint32_t kernel = by_node[i];

        if ((set >> kernel & 1) == 0)
            continue;
        set &= ~(1ull << kernel);
        if (runs == 0 || length == most || (nodes && node_of(kernel) != node) || node_of(kernel) == alone) {
            if (runs == limit)
                return limit + 1;
            parts[runs++] = 0;
            length = 0;
            node = node_of(kernel);
        }
        parts[runs - 1] |= 1ull << kernel;
        length++;
    }
    return runs;
}

/* Divides SET, which is not empty, for ROOT, which asks: into its kernels if they are at most DIRECT, and else into at
 * most FAN parts: one relay for each other node, and the kernels of ROOT's node without a relay. If those are too many,
 * the shortest possible runs, which end at the borders of nodes if these are few enough. Returns the number of parts.
 */
static uint32_t divide(uint32_t root, kernel_set set, uint32_t direct, kernel_set *parts)
{
    uint32_t count = kernel_set_count(set);
    uint32_t runs;

    if (count <= direct)
        return cut(set, direct, 1, false, KERNELS_MAX, parts);
    runs = cut(set, FAN, FAN + 1, true, node_of(root), parts);
    for (uint32_t most = FAN + 1; runs > FAN && most <= count; most++)
        runs = cut(set, FAN, most, true, KERNELS_MAX, parts);
    return runs <= FAN ? runs : cut(set, FAN, (count + FAN - 1) / FAN, false, KERNELS_MAX, parts);
}

uint32_t msg_relay_to(uint32_t root)
{
    kernel_set own = 1ull << instance.kernel, set = (msg_peers_reachable() | own) & ~(1ull << root);
    uint32_t asker = root;

    while (asker != instance.kernel) {
        kernel_set parts[FAN];
        uint32_t count = divide(asker, set, FAN, parts), i = 0, relay;

        while (i < count - 1 && (parts[i] & own) == 0)
            i++;
        relay = (uint32_t)__builtin_ctzll(parts[i]);
        if (relay == instance.kernel)
            break;
        asker = relay;
        set = parts[i] & ~(1ull << relay);
    }
    return asker;
}

/* Memory of rounds and relays is reused: most objects fit in one size, and none has to be zeroed. */
static struct spinlock spare_lock; /* no other lock is held with it */
static void *spare[2];             /* [k] spare_lock: SPARE_SIZE bytes each, or NULL */

static void *memory_take(size_t size)
{
    void *memory = NULL;

    if (size > SPARE_SIZE)
        return msg_memory.allocate(size);
    spin_lock(&spare_lock);
    for (uint32_t i = 0; i < 2 && memory == NULL; i++) {
        memory = spare[i];
        spare[i] = NULL;
    }
    spin_unlock(&spare_lock);
    return memory != NULL ? memory : msg_memory.allocate(SPARE_SIZE);
}

static void memory_give(void *memory, size_t size)
{
    if (size > SPARE_SIZE) {
        msg_memory.release(memory, size);
        return;
    }
    spin_lock(&spare_lock);
    for (uint32_t i = 0; i < 2 && memory != NULL; i++) {
        if (spare[i] == NULL) {
            spare[i] = memory;
            memory = NULL;
        }
    }
    spin_unlock(&spare_lock);
    if (memory != NULL)
        msg_memory.release(memory, SPARE_SIZE);
}

static void round_begin(struct round *round, enum msg_type type, msg_answer each, void *context,
                        void (*finished)(struct round *round))
{
    round->reply_size = msg_rows[type | MSG_REPLY_BIT].size;
    round->lock = (struct spinlock){0};
    round->each = each;
    round->context = context;
    round->finished = finished;
}

static void one_less(struct round *round)
{
    uint32_t left;

    spin_lock(&round->lock);
    left = --round->left;
    spin_unlock(&round->lock);
    if (left == 0)
        round->finished(round);
}

/* Passes on the answers of all kernels of SET from a relay's reply, or its error. An answer that is missing or invalid
 * is an error, too. */
static void unpack_locked(struct round *round, kernel_set set, const uint8_t *reply, int length)
{
    uint32_t relay = (uint32_t)__builtin_ctzll(set);
    struct msg_relayed head = {0};
    int missing = length == -EAGAIN ? RELAY_NOT_ASKED : length < 0 ? length : -EPROTO;
    size_t at = sizeof(head);

    if (length >= (int)sizeof(head))
        memcpy(&head, reply, sizeof(head));
    head.empty &= round->reply_size == 0 ? set : 0;
    for (kernel_set rest = head.empty; rest != 0; rest &= rest - 1)
        round->each(round->context, (uint32_t)__builtin_ctzll(rest), NULL, 0);
    set &= ~head.empty;
    while (length >= 0 && at + sizeof(struct msg_relay_record) <= (size_t)length) {
        struct msg_relay_record record;
        const uint8_t *data = reply + at + sizeof(record);

        memcpy(&record, reply + at, sizeof(record));
        if (record.kernel >= KERNELS_MAX || (set >> record.kernel & 1) == 0 ||
            (record.length < -ERRNO_MAX && record.length != RELAY_NOT_ASKED))
            break;
        at += sizeof(record);
        if (record.length >= 0) {
            if (record.length == 0 || (uint32_t)record.length != round->reply_size ||
                (size_t)record.length > (size_t)length - at)
                break;
            at += ((size_t)record.length + 7) & ~(size_t)7;
        }
        set &= ~(1ull << record.kernel);
        round->each(round->context, record.kernel, data, record.length);
    }
    for (; set != 0; set &= set - 1) {
        uint32_t kernel = (uint32_t)__builtin_ctzll(set);
        bool behind = length == -EHOSTDOWN && kernel != relay; /* the relay has died, and this kernel has not */

        round->each(round->context, kernel, reply, behind ? RELAY_NOT_ASKED : missing);
    }
}

/* REPLY NULL: the errno is not the kernel's; the request was not sent. */
static void part_answer(void *context, uint32_t kernel, const void *reply, int length)
{
    struct part *part = context;
    struct round *round = part->round;

    spin_lock(&round->lock);
    if ((part->set & (part->set - 1)) == 0)
        round->each(round->context, kernel, reply, length);
    else
        unpack_locked(round, part->set, reply, length);
    spin_unlock(&round->lock);
    one_less(round);
}

static size_t relay_size(uint32_t length)
{
    return (sizeof(struct msg_relay) + length + 7) & ~(size_t)7;
}

static size_t round_size(uint32_t length)
{
    return sizeof(struct round) + FAN * relay_size(length);
}

/* Sends the requests to the kernels of SET, which may be empty; ROUND is initialised except for its parts. DATA stays
 * valid until all have answered. The caller ends with one_less; after the last answer ROUND->finished is called. */
static void ask_parts(struct round *round, kernel_set set, enum msg_type type, const void *data, uint32_t length)
{
    bool urgent = msg_kinds[type].class == MSG_URGENT;
    kernel_set parts[DIRECT];
    uint32_t count = set == 0 ? 0 : divide(instance.kernel, set, DIRECT, parts);

    round->left = count + 1;
    for (uint32_t i = 0; i < count; i++) {
        struct part *part = &round->parts[i];
        uint32_t first = (uint32_t)__builtin_ctzll(parts[i]);

        part->round = round;
        part->set = parts[i];
        if ((part->set & (part->set - 1)) == 0) {
            msg_ask(&part->asking, first, type, data, length, part_answer, part);
        } else {
            struct msg_relay *relay = (struct msg_relay *)(void *)((uint8_t *)(round + 1) + i * relay_size(length));

            *relay = (struct msg_relay){.kernels = part->set, .type = (uint16_t)type};
            memcpy(relay + 1, data, length);
            msg_ask(&part->asking, first, urgent ? MSG_RELAY_URGENT : MSG_RELAY, relay,
                    (uint32_t)sizeof(*relay) + length, part_answer, part);
        }
    }
}

/* --- the requesting task --- */
struct multicast {
    struct completion done;
    msg_answer each;
    void *context;
    kernel_set not_asked;
};

static void note_answer(void *context, uint32_t kernel, const void *reply, int length)
{
    struct multicast *multicast = context;

    if (length == RELAY_NOT_ASKED)
        multicast->not_asked |= 1ull << kernel;
    else if (multicast->each != NULL)
        multicast->each(multicast->context, kernel, reply, length);
}

static void multicast_finished(struct round *round)
{
    struct multicast *multicast = round->context;

    completion_signal(&multicast->done);
}

void msg_multicast(kernel_set set, enum msg_type type, const void *data, uint32_t length, msg_answer each,
                   void *context, const char *why, uint64_t key)
{
    struct wait_reason reason = {.what = why, .kernel = -1, .key = key};
    struct multicast multicast = {.each = each, .context = context};
    size_t size = round_size(length);
    struct round *round = NULL;

    assert(length <= MULTICAST_MAX && !msg_kinds[type].reply_bytes);
    assert(instance.kernels == 64 || set >> instance.kernels == 0);
    if (kernel_set_count(set) > DIRECT)
        round = memory_take(size);
    if (round == NULL) {
        msg_gather(set, type, data, length, each, context, why, key);
        return;
    }
    round_begin(round, type, note_answer, &multicast, multicast_finished);
    ask_parts(round, set, type, data, length);
    one_less(round);
    msg_wait(&multicast.done, &reason);
    memory_give(round, size);
    if (multicast.not_asked != 0)
        msg_gather(multicast.not_asked, type, data, length, each, context, why, key);
}

/* --- the relay --- */
struct relaying {
    struct msg_kept kept;
    struct msg_asking own; /* the request as handled by this kernel */
    uint32_t room;         /* bytes of this object */
    uint32_t length;       /* of the answer so far */
    enum msg_type type;
    uint32_t data_length;
    struct msg_relayed *answer; /* at the end of this object; records follow it */
    void *data;                 /* the payload of the request, before the answer */
    struct round round;         /* last: the payloads for its relays follow it */
};

static void collect(void *context, uint32_t kernel, const void *reply, int length)
{
    struct relaying *relaying = context;
    struct msg_relay_record record = {kernel, length};
    uint8_t *to = (uint8_t *)relaying->answer + relaying->length;

    if (length == 0) {
        relaying->answer->empty |= 1ull << kernel;
        return;
    }
    if (length < 0 && reply == NULL)
        record.length = RELAY_NOT_ASKED; /* not the kernel's answer: it cannot be reached from here */
    memcpy(to, &record, sizeof(record));
    relaying->length += (uint32_t)sizeof(record);
    if (record.length > 0) {
        memcpy(to + sizeof(record), reply, (size_t)record.length);
        relaying->length += ((uint32_t)record.length + 7) & ~7u;
    }
}

static void relay_free(struct msg_kept *kept)
{
    struct relaying *relaying = container_of(kept, struct relaying, kept);

    memory_give(relaying, relaying->room);
}

static void relay_finished(struct round *round)
{
    struct relaying *relaying = round->context;

    msg_kept_reply_long(&relaying->kept, relaying->answer, relaying->length, relay_free);
}

static void own_answer(void *context, uint32_t kernel, const void *reply, int length)
{
    struct relaying *relaying = context;

    spin_lock(&relaying->round.lock);
    collect(relaying, kernel, reply, length);
    spin_unlock(&relaying->round.lock);
    one_less(&relaying->round);
}

/* Handles the request on this kernel as a request to itself. Its answer takes the place of the one_less that ask_parts
 * leaves to the caller. */
static void handle_own(struct relaying *relaying)
{
    struct msg m = {.ticket = {.type = relaying->type & MSG_ROW_BITS, .kernel = instance.kernel & MSG_SOURCE_BITS},
                    .time = msg_clock_tick(),
                    .length = relaying->data_length,
                    .data = relaying->data};

    if (msg_own_request(&relaying->own, (uint16_t)relaying->type, own_answer, relaying, &m.ticket.request))
        msg_rows[relaying->type].handler(&m);
    else
        own_answer(relaying, instance.kernel, NULL, RELAY_NOT_ASKED);
}

static bool relay_valid(const struct msg *m, const struct msg_relay *relay, uint32_t length)
{
    const struct msg_kind *kind = &msg_kinds[relay->type % MSG_TYPES];
    const struct msg_row *row = &msg_rows[relay->type % MSG_TYPES];

    return relay->type < MSG_TYPES && relay->type != MSG_RELAY && relay->type != MSG_RELAY_URGENT &&
           kind->name != NULL && row->handler != NULL && !kind->notice && !kind->reply_bytes &&
           kind->class == msg_kinds[m->ticket.type].class && length <= MULTICAST_MAX &&
           (row->bytes ? length >= row->size : length == row->size) && (relay->kernels >> instance.kernel & 1) != 0 &&
           (instance.kernels == 64 || relay->kernels >> instance.kernels == 0) &&
           (relay->kernels >> m->ticket.kernel & 1) == 0;
}

static void handle_relay(const struct msg *m)
{
    const struct msg_relay *relay = m->data;
    uint32_t length = m->length - (uint32_t)sizeof(*relay);
    uint32_t reply_size;
    size_t answers, data_at, answer_at, room;
    struct relaying *relaying;

    if (!relay_valid(m, relay, length)) {
        msg_reply_error(&m->ticket, -EPROTO);
        return;
    }
    reply_size = msg_rows[relay->type | MSG_REPLY_BIT].size;
    answers = kernel_set_count(relay->kernels) * (sizeof(struct msg_relay_record) + ((reply_size + 7) & ~7u));
    data_at = offsetof(struct relaying, round) + round_size(length);
    answer_at = data_at + ((length + 7) & ~(size_t)7);
    room = answer_at + sizeof(struct msg_relayed) + answers;
    relaying = memory_take(room);
    if (relaying == NULL) {
        msg_reply_error(&m->ticket, -EAGAIN); /* no kernel has been asked */
        return;
    }
    msg_stats.relayed++;
    relaying->room = (uint32_t)room;
    relaying->type = relay->type;
    relaying->data = (uint8_t *)relaying + data_at;
    relaying->data_length = length;
    relaying->answer = (struct msg_relayed *)(void *)((uint8_t *)relaying + answer_at);
    relaying->length = sizeof(struct msg_relayed);
    memcpy(relaying->data, relay + 1, length);
    relaying->answer->empty = 0;
    round_begin(&relaying->round, relaying->type, collect, relaying, relay_finished);
    msg_keep(m, &relaying->kept, NULL);
    ask_parts(&relaying->round, relay->kernels & ~(1ull << instance.kernel), relaying->type, relaying->data, length);
    spin_lock(&relaying->round.lock);
    relaying->round.left++; /* the handler may answer and then continue to read the request */
    spin_unlock(&relaying->round.lock);
    handle_own(relaying);
    one_less(&relaying->round);
}

void msg_multicast_init(void)
{
    uint32_t length = 0;

    for (uint32_t node = 0; length < instance.kernels; node++) {
        for (uint32_t k = 0; k < instance.kernels; k++) {
            if (node_of(k) == node)
                by_node[length++] = (uint8_t)k;
        }
    }
    msg_register(MSG_RELAY, handle_relay, sizeof(struct msg_relay), sizeof(struct msg_relayed));
    msg_register(MSG_RELAY_URGENT, handle_relay, sizeof(struct msg_relay), sizeof(struct msg_relayed));
}
