/* A hostile neighbourhood: of the 11 peers of one instance one is right and the others write whatever the input says,
 * while the instance sends, asks, relays and answers. Whatever they do: nobody reads or writes out of bounds, handlers
 * get what the table promises, each request is answered once, the right peer's messages come whole and in order and it
 * gets ours, and once the others have become right, every wait ends and all memory for requests and relays is free.
 *
 * sources: tests/stand_in/state/first.c msg/ring.c msg/message.c msg/channel.c msg/send.c msg/receive.c
 *
 * sources: msg/request/call.c
 *
 * sources: msg/doorbell.c msg/request/request.c msg/request/gather.c msg/fragment.c msg/dispatch.c
 *
 * sources: msg/request/kept.c msg/request/multicast.c msg/idle.c msg/stats.c msg/inject.c msg/trace.c msg/control.c
 *
 * sources: msg/report.c
 *
 * sources: tests/stand_in/state/last.c boot/options/control.c boot/options/options.c kernel/wait/completion.c
 *
 * runs: 20000
 *
 * flags: -max_len=512 -len_control=0 */
#include "tests/fuzz/fuzz.h"
#include "tests/stand_in/peers.h"
#include "tests/stand_in/state.h"

#define KERNELS 12u /* so that a relay can be asked to relay further */
#define GOOD 2u
#define NUMBERED_LONG 500u /* bytes of the right peer's long notices */
#define KEPT_MAX 32u
#define ASKED_MAX 64u
#define GOOD_MAX 64u  /* requests of the right peer that are open */
#define SEEN_MAX 512u /* requests of ours that a peer remembers */
#define ROUNDS_MAX 60000u
#define SPARE 4096u /* bytes, as in msg/request/multicast.c */

static const struct handled {
    uint16_t type;
    uint32_t size, reply_size;
} handled[] = {
    {MSG_READY, 8, 0},         {MSG_TELL, 48, 0},    {MSG_TELL_URGENT, 48, 0},  {MSG_TELL_BYTES, 0, 0},
    {MSG_SPACE_UNLOCK, 16, 0}, {MSG_ASK, 48, 48},    {MSG_ASK_URGENT, 48, 48},  {MSG_ECHO, 0, 0},
    {MSG_SURVEY, 32, 0},       {MSG_HOST, 16, 8},    {MSG_SURVEY_BYTES, 0, 0},  {MSG_SPACE_UNMAP, 32, 16},
    {MSG_GROUP_KILL, 8, 0},    {MSG_MIGRATE, 64, 0}, {MSG_SPACE_FETCH, 16, 40},
};

#define HANDLED (sizeof(handled) / sizeof(handled[0]))

static struct fuzz_reader input;
static bool redeemed; /* the input is used up: from now on all peers are right */

/* The right peer. */
static struct {
    uint64_t notified[MSG_CLASSES], heard[MSG_CLASSES];         /* numbers of its notices: sent, handled by us */
    uint64_t notifies[MSG_CLASSES], notifies_come[MSG_CLASSES]; /* of ours to it */
    uint32_t asked, answered, credits[MSG_CLASSES];
    uint8_t state[GOOD_MAX]; /* of its requests, by id: 0 none, 1 asked, 2 kept */
} good;

/* Requests that we have kept. */
struct kept {
    struct msg_kept kept;
    bool used, answered;
    uint64_t words[6];
    uint8_t *bytes;
};

static struct kept kept[KEPT_MAX];

/* Requests that we have asked; each is freed by its answer. */
struct asked {
    struct msg_asking asking;
    uint16_t type;
    uint32_t kernel, place;
    uint8_t *data;
};

static struct asked *asked_open[ASKED_MAX]; /* or NULL */
static uint32_t asked_count;

/* Requests of ours that the others have seen. */
static struct {
    uint32_t count, next;
    struct open_request {
        uint16_t type, relayed;
        uint16_t request;
        uint64_t relayed_to; /* of a relay */
    } list[SEEN_MAX];
} seen[KERNELS];

void panic(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    abort();
}

static uint64_t take(size_t bytes)
{
    return fuzz_take(&input, bytes);
}

static const struct handled *handled_find(uint32_t type)
{
    for (size_t i = 0; i < HANDLED; i++) {
        if (handled[i].type == type)
            return &handled[i];
    }
    return NULL;
}

/* A length that a handler, or an asker, may see. */
static bool length_right(uint32_t length, uint32_t size, bool bytes)
{
    return length <= MSG_MAX && (bytes ? length >= size : length == size);
}

static uint64_t number_word(uint64_t number, uint32_t i)
{
    return (number + 1) * 0x9e3779b97f4a7c15ull + i;
}

static void number_fill(uint64_t *words, uint64_t number, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        words[i] = i == 0 ? number : number_word(number, i);
}

static void number_check(const void *data, uint64_t number, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t word;

        memcpy(&word, (const uint8_t *)data + 8 * (size_t)i, 8);
        REQUIRE(word == (i == 0 ? number : number_word(number, i)));
    }
}

/* Our handlers. */
static void kept_free(struct msg_kept *k)
{
    struct kept *entry = (struct kept *)(void *)k;

    REQUIRE(entry->used && entry->answered);
    free(entry->bytes);
    *entry = (struct kept){.used = false};
}

static void note_cancelled(struct msg_kept *k)
{
    const struct kept *entry = (struct kept *)(void *)k;

    REQUIRE(entry->used && !entry->answered);
}

static void answer_kept(struct kept *entry, uint32_t choice, uint32_t length)
{
    const struct handled *row = handled_find(entry->kept.ticket.type);
    bool bytes = msg_kinds[row->type].reply_bytes;
    bool relayed = entry->kept.ticket.kernel == OWN;

    entry->answered = true;
    if (choice % 4 == 0) {
        msg_kept_reply_error(&entry->kept, -EIO, kept_free);
    } else if (bytes && choice % 4 == 1 && !relayed) {
        length = length < row->reply_size ? row->reply_size : length;
        entry->bytes = calloc(1, length > 0 ? length : 1);
        msg_kept_reply_long(&entry->kept, entry->bytes, length, kept_free);
    } else {
        msg_kept_reply(&entry->kept, entry->words, row->reply_size, kept_free);
    }
}

static void handle_request(const struct msg *m, const struct handled *row)
{
    uint32_t choice = (uint32_t)take(1);
    uint64_t words[6] = {0};

    memcpy(words, m->data, m->length < sizeof(words) ? m->length : sizeof(words));
    for (uint32_t i = 0; i < KEPT_MAX && choice % 4 >= 2; i++) {
        if (!kept[i].used) {
            kept[i] = (struct kept){.used = true};
            memcpy(kept[i].words, words, sizeof(words));
            msg_keep(m, &kept[i].kept, note_cancelled);
            return;
        }
    }
    if (choice % 4 == 1)
        msg_reply_error(&m->ticket, -(int)(1 + choice));
    else
        msg_reply(&m->ticket, words, row->reply_size);
    if (m->length > 0) /* still valid */
        REQUIRE(memcmp(m->data, words, m->length < 48 ? m->length : 48) == 0);
}

static void handle(const struct msg *m)
{
    const struct handled *row = handled_find(m->ticket.type);
    uint8_t last = 0;

    REQUIRE(row != NULL && length_right(m->length, row->size, msg_kinds[row->type].bytes));
    REQUIRE(m->ticket.kernel < KERNELS && ((uintptr_t)m->data & 7) == 0);
    REQUIRE(m->ticket.kernel != OWN || !msg_kinds[row->type].notice);
    for (uint32_t i = 0; i < m->length; i += 1 + i / 8)
        last = ((const volatile uint8_t *)m->data)[i];
    (void)last;
    if (m->ticket.kernel == GOOD && msg_kinds[row->type].notice) {
        enum msg_class which = peers_class(row->type);

        number_check(m->data, good.heard[which]++, m->length / 8);
        REQUIRE(good.heard[which] <= good.notified[which]);
    }
    if (!msg_kinds[row->type].notice)
        handle_request(m, row);
}

void msg_exercise_init(void)
{
    for (size_t i = 0; i < HANDLED; i++)
        msg_register((enum msg_type)handled[i].type, handle, handled[i].size, handled[i].reply_size);
}

/* Our requests. */
static void take_answer(void *context, uint32_t kernel, const void *reply, int length)
{
    struct asked *asked = context;
    const struct handled *row = handled_find(asked->type);
    uint8_t last = 0;

    REQUIRE(kernel == asked->kernel && length > -4096);
    REQUIRE(length < 0 || length_right((uint32_t)length, row->reply_size, msg_kinds[row->type].reply_bytes));
    for (int i = 0; i < length; i++)
        last = ((const volatile uint8_t *)reply)[i];
    (void)last;
    if (kernel == GOOD && length == 48)
        REQUIRE(memcmp(reply, asked->data, 48) == 0);
    REQUIRE(kernel != GOOD || length >= 0 || length == -ENOMEM);
    asked_open[asked->place] = NULL;
    asked_count--;
    free(asked->data);
    free(asked);
}

static uint8_t *some_bytes(uint32_t length)
{
    uint8_t *bytes = calloc(1, length > 0 ? length : 1);
    uint64_t some = take(8);

    memcpy(bytes, &some, length < 8 ? length : 8);
    return bytes;
}

static uint32_t pick_length(uint32_t size, bool bytes)
{
    uint32_t choice = (uint32_t)take(1);

    if (!bytes)
        return size;
    if (choice == 255)
        return MSG_MAX;
    return size + (choice < 200 ? choice / 2 : (uint32_t)take(2) % 2000);
}

static const struct handled *pick_request(void)
{
    const struct handled *row = &handled[take(1) % HANDLED];

    return msg_kinds[row->type].notice ? &handled[5] : row;
}

static uint32_t pick_other(void)
{
    static const uint8_t others[] = {0, 0, 0, 0, 0, 0, 0, 3, 3, 4, 5, 6, 7, 8, 9, 10, 11};

    return others[take(1) % sizeof(others)];
}

static void ask_kernel(uint32_t kernel, const struct handled *row, uint32_t length)
{
    struct asked *asked;
    uint32_t place = 0;

    while (place < ASKED_MAX && asked_open[place] != NULL)
        place++;
    if (place == ASKED_MAX)
        return;
    asked = calloc(1, sizeof(*asked));
    asked->type = row->type;
    asked->kernel = kernel;
    asked->place = place;
    asked->data = some_bytes(length);
    asked_open[place] = asked;
    asked_count++;
    msg_ask(&asked->asking, kernel, (enum msg_type)row->type, asked->data, length, take_answer, asked);
}

static void own_ask(void)
{
    const struct handled *row = pick_request();
    uint32_t kernel = take(1) % 4 == 0 ? GOOD : pick_other();

    if (kernel == GOOD)
        row = take(1) % 2 ? &handled[5] : &handled[6];
    ask_kernel(kernel, row, pick_length(row->size, msg_kinds[row->type].bytes));
}

static void own_call(void)
{
    struct msg_policy policy = {.timeout = take(2), .end = take(1) % 2 != 0 ? WAIT_KILLABLE : WAIT_FIRM};
    const struct handled *row = pick_request();
    uint32_t length = pick_length(row->size, msg_kinds[row->type].bytes);
    uint32_t room = (uint32_t)take(1);
    uint8_t *data = some_bytes(length);
    uint8_t *reply = malloc(room + 1);
    int result;

    result = msg_call_within(&policy, pick_other(), (enum msg_type)row->type, data, length, reply, room, "call", 0);
    peers_dying = false;
    REQUIRE(result > -4096 && result <= (int)room);
    free(data);
    free(reply);
}

static uint32_t each_count[KERNELS];

static void take_each(void *context, uint32_t kernel, const void *reply, int length)
{
    const struct handled *row = context;
    uint8_t last = 0;

    REQUIRE(kernel < KERNELS && each_count[kernel]++ == 0);
    REQUIRE(length > -4096 && (length < 0 || (uint32_t)length == row->reply_size));
    for (int i = 0; i < length; i++)
        last = ((const volatile uint8_t *)reply)[i];
    (void)last;
}

static void own_multicast(void)
{
    static const uint32_t rows[] = {8, 11, 10, 12, 14};
    const struct handled *row = &handled[rows[take(1) % 5]];
    kernel_set set = take(2) & ((1u << KERNELS) - 1) & ~(1ull << OWN);
    uint32_t length = row->size > 0 ? row->size : (uint32_t)take(1);
    uint8_t *data = some_bytes(length);

    memset(each_count, 0, sizeof(each_count));
    msg_multicast(set, (enum msg_type)row->type, data, length, take_each, (void *)(uintptr_t)row, "multicast", 0);
    for (uint32_t k = 0; k < KERNELS; k++)
        REQUIRE(each_count[k] == (set >> k & 1));
    free(data);
}

static void own_notify_good(void)
{
    enum msg_class which = take(1) % 2 ? MSG_URGENT : MSG_ORDINARY;
    uint64_t words[6];

    number_fill(words, good.notifies[which]++, 6);
    REQUIRE(msg_notify(GOOD, which == MSG_URGENT ? MSG_TELL_URGENT : MSG_TELL, words, 48) == 0);
}

static void own_notify_other(void)
{
    uint32_t length = pick_length(0, true);
    uint8_t *data = some_bytes(length);
    int error = msg_notify(pick_other(), MSG_TELL_BYTES, data, length);

    REQUIRE(error == 0 || error == -EAGAIN);
    free(data);
}

static void own_answer(void)
{
    struct kept *entry = &kept[take(1) % KEPT_MAX];
    uint32_t choice = (uint32_t)take(1);

    if (entry->used && !entry->answered)
        answer_kept(entry, choice, (uint32_t)take(1) * 7);
}

static void own_control(void)
{
    static const char *const words[] = {"trace=on",
                                        "trace=off",
                                        "inject=seed:1,rate:50,delay:100",
                                        "inject=off",
                                        "inject=hold:50 trace=clear",
                                        "poll=0",
                                        "poll=x",
                                        "inject=peer:2,slow:20"};

    option_control(words[take(1) % 8]);
}

#include "tests/msg/channel_peers.h"

/* One action of the input; TASK: it may wait. */
static void act(bool task)
{
    uint32_t kernel;

    switch (take(1) % 28) {
    case 0:
    case 1:
        msg_poll();
        break;
    case 2:
        other_raw();
        break;
    case 3:
    case 4:
        other_near();
        break;
    case 5:
        other_words();
        break;
    case 6:
    case 7:
        kernel = pick_other();
        other_read(kernel);
        peers_signal(kernel);
        break;
    case 8:
    case 9:
        other_answer();
        break;
    case 10:
        other_request();
        break;
    case 11:
    case 12:
        other_relay();
        break;
    case 13:
        other_relayed();
        break;
    case 14:
        other_cancel();
        break;
    case 15:
        good_notify();
        break;
    case 16:
        good_ask();
        break;
    case 17:
        good_take(take(1) % 2 ? MSG_URGENT : MSG_ORDINARY);
        break;
    case 18:
    case 19:
        own_ask();
        break;
    case 20:
        own_answer();
        break;
    case 21:
        own_control();
        break;
    case 22:
        peers_pass(take(2) * 10);
        break;
    case 23:
        if (take(1) % 2)
            msg_doorbell_interrupt();
        else if (!msg_doorbell_arm() || take(1) % 2)
            msg_doorbell_disarm();
        break;
    case 24:
        peers_fail_next(take(1) % 4);
        break;
    case 25:
        if (task)
            own_call();
        break;
    case 26:
        if (task)
            own_multicast();
        break;
    default:
        if (task && take(1) % 2)
            own_notify_good();
        else if (task)
            own_notify_other();
        break;
    }
}

/* The others have become right: they go on where we expect them to, and answer all that they were asked. */
static void redeem(void)
{
    redeemed = true;
    peers_fail_from = peers_fail_to = 0;
    for (uint32_t k = 0; k < KERNELS; k++) {
        for (uint32_t which = 0; which < MSG_CLASSES && k != OWN && k != GOOD; which++) {
            struct peers_slot *ring = peers_ring(OWN, k, (enum msg_class)which);

            peers[k].put[which] = peers_head(OWN)->taken[k].count[which];
            for (uint32_t i = 0; i < peers_slots; i++)
                ring[i].publish = 0x8000;
        }
    }
}

static void live_rightly(void)
{
    int64_t error = -EIO;

    if (!redeemed)
        redeem();
    peers_pass(100000);
    for (uint32_t k = 0; k < KERNELS; k++) {
        if (k == OWN || k == GOOD)
            continue;
        other_read(k);
        for (uint32_t which = 0; which < MSG_CLASSES; which++)
            peers_head(k)->taken[OWN].count[which] = peers[k].taken[which];
        while (seen[k].count > 0) {
            struct open_request request = seen[k].list[(seen[k].next - seen[k].count) % SEEN_MAX];

            if (!peers_room(k, peers_class(request.type)))
                break;
            peers_send(k, request.type, PEERS_REPLY | PEERS_ERROR, request.request, &error, 8);
            seen[k].count--;
        }
        peers_answer_wish(k);
    }
    good_take(MSG_URGENT);
    good_take(MSG_ORDINARY);
    msg_poll();
}

static uint32_t rounds;

static void wait(const struct wait_reason *reason)
{
    (void)reason;
    peers_pass(1000);
    if (input.left > 0) {
        peers_dying = take(1) % 8 == 0;
        act(false);
        msg_poll();
    } else {
        REQUIRE(rounds++ < ROUNDS_MAX);
        live_rightly();
    }
}

static size_t block_size; /* of the request table */

/* All memory but that of peers, buffers, times, the request table and the trace is free again; two objects of SPARE
 * bytes are kept for the next rounds. */
static bool memory_free(void)
{
    uint32_t spare = 0;

    for (struct peers_object *object = peers_objects.next; object != &peers_objects; object = object->next) {
        spare += object->size == SPARE;
        if (object->size != sizeof(struct peer) && object->size != MSG_MAX && object->size != block_size &&
            object->size != sizeof(struct msg_times) && object->size != SPARE && object->size < 100000)
            return false;
    }
    return spare <= 2 && peers_live_objects <= KERNELS * (1 + 4) + MSG_ROWS + 64 + 1 + 2;
}

static bool all_done(void)
{
    bool busy = asked_count > 0 || good.asked != good.answered;

    for (uint32_t i = 0; i < KEPT_MAX; i++) {
        if (kept[i].used && !kept[i].answered)
            answer_kept(&kept[i], 2, 0);
        busy = busy || kept[i].used;
    }
    for (uint32_t which = 0; which < MSG_CLASSES; which++)
        busy = busy || good.heard[which] != good.notified[which] || good.notifies_come[which] != good.notifies[which];
    return !busy && memory_free();
}

/* The first request, which makes the first block of the request table. */
static void ask_first(void)
{
    uint64_t before = peers_live_bytes;

    ask_kernel(GOOD, &handled[5], 48);
    block_size = peers_live_bytes - before;
}

static void begin(void)
{
    uint64_t words[NUMBERED_LONG / 8 + 1];
    uint32_t options = (uint32_t)take(1);

    state_reset();
    REQUIRE(state_holds(&msg_clock) && state_holds(msg_rows) && state_holds(msg_peers));
    while (peers_objects.next != &peers_objects)
        peers_release((uint8_t *)peers_objects.next + PEERS_OBJECT, peers_objects.next->size);
    memset(peers, 0, KERNELS * sizeof(peers[0]));
    memset(&good, 0, sizeof(good));
    memset(kept, 0, sizeof(kept));
    memset(seen, 0, sizeof(seen));
    redeemed = false;
    peers_counts = peers_logged = peers_waits = peers_allocations = peers_fail_from = peers_fail_to = 0;
    peers_dying = false;
    rounds = asked_count = 0;
    memset(asked_open, 0, sizeof(asked_open));
    peers_lent_from = fuzz_lent;
    peers_lent_to = fuzz_lent + sizeof(fuzz_lent);
    peers_start(KERNELS, 3, options & 1 ? "ring=4" : "ring=16");
    msg_peer_reach(GOOD);
    for (uint32_t k = 0; k < KERNELS && (options & 2) == 0; k++)
        msg_peer_reach(k);
    /* so that want of memory later on does not cost the right peer a notice */
    number_fill(words, good.notified[MSG_ORDINARY]++, NUMBERED_LONG / 8);
    peers_send(GOOD, MSG_TELL_BYTES, 0, 0, words, NUMBERED_LONG);
    msg_poll();
    REQUIRE(good.heard[MSG_ORDINARY] == 1);
    peers_waiting = wait;
    ask_first();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char report[65536];
    uint64_t cursor = 0;

    input = (struct fuzz_reader){data, size};
    begin();
    while (input.left > 0)
        act(true);
    option_control("inject=off");
    do {
        REQUIRE(rounds++ < ROUNDS_MAX);
        live_rightly();
    } while (!all_done() || rounds < 4);
    REQUIRE(peers_logged <= 12);
    REQUIRE(msg_report(report, sizeof(report), &cursor) < sizeof(report) && cursor == 0);
    while (msg_trace_report(report, sizeof(report), &cursor) > 0 && cursor != 0) {
    }
    return 0;
}
