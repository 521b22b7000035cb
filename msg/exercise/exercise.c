/* Exercising the channel. See the header.
 *
 * Every one-way message of a checked exercise with 24 bytes or more begins with its stream, its number in the stream
 * and the seed; the rest is a function of these. */
#include "msg/exercise/exercise.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "kernel/wait/completion.h"
#include "msg/channel_internal.h"
#include "msg/idle.h"
#include "msg/request/long_answer.h"
#include "msg/request/multicast.h"

#define CHECKED 24u /* bytes of the head of a checked message */

struct msg_exercise { /* TELL, ASK */
    uint64_t words[6];
};

struct msg_survey { /* SURVEY */
    uint64_t words[4];
};

_Static_assert(sizeof(struct msg_exercise) == MSG_SHORT, "one slot");

/* The state of one stream, at the sender by receiver, and at the receiver by sender. */
struct stream {
    struct stream *next;
    uint32_t stream;
    uint32_t class;
    uint64_t number; /* of the next message */
};

static struct spinlock sending_lock;
static struct stream *sending[KERNELS_MAX];      /* [k] sending_lock */
static struct stream *arriving[KERNELS_MAX];     /* [k] rx_lock */
static struct kettle_tally tallies[KERNELS_MAX]; /* [k] rx_lock */

static struct stream *stream_find(struct stream **list, uint32_t stream, uint32_t class)
{
    struct stream *s = *list;

    while (s != NULL && (s->stream != stream || s->class != class))
        s = s->next;
    if (s != NULL)
        return s;
    s = msg_memory.allocate_unset(sizeof(*s));
    if (s == NULL)
        return NULL;
    memset(s, 0, sizeof(*s));
    s->stream = stream;
    s->class = class;
    s->next = *list;
    *list = s;
    return s;
}

static uint64_t mix(uint64_t seed, uint64_t stream, uint64_t number, uint64_t index)
{
    uint64_t z = seed ^ stream << 40 ^ number * 0x9e3779b97f4a7c15ull ^ index * 0xd1b54a32d192ed03ull;

    z = (z ^ z >> 32) * 0xd6e8feb86659fd93ull;
    return z ^ z >> 32;
}

/* Fills the content behind the head, in whole words; remaining bytes stay 0. */
static void fill(uint64_t *words, uint32_t size)
{
    for (uint32_t i = CHECKED / 8; i < size / 8; i++)
        words[i] = mix(words[2], words[0], words[1], i);
}

static bool content_right(const uint64_t *words, uint32_t size)
{
    for (uint32_t i = CHECKED / 8; i < size / 8; i++) {
        if (words[i] != mix(words[2], words[0], words[1], i))
            return false;
    }
    return true;
}

static __attribute__((noinline)) void check(const struct msg *m, struct kettle_tally *tally, const uint64_t *words)
{
    uint32_t kernel = m->ticket.kernel;
    struct stream *stream;

    if (!content_right(words, m->length)) {
        tally->wrong_content++;
        return;
    }
    stream = stream_find(&arriving[kernel], (uint32_t)words[0], msg_kinds[m->ticket.type].class);
    if (stream == NULL || stream->number != words[1])
        tally->out_of_order++;
    if (stream != NULL)
        stream->number = words[1] + 1;
}

static void handle_notify(const struct msg *m)
{
    struct kettle_tally *tally = &tallies[m->ticket.kernel];
    const uint64_t *words = m->data;

    tally->messages++;
    tally->bytes += m->length;
    if (m->length >= CHECKED && words[2] != 0)
        check(m, tally, words);
}

static void handle_ask(const struct msg *m)
{
    msg_reply(&m->ticket, m->data, MSG_SHORT);
}

static void handle_survey(const struct msg *m)
{
    msg_reply(&m->ticket, NULL, 0);
}

struct echo {
    struct long_answer head;
    uint8_t bytes[];
};

static void handle_echo(const struct msg *m)
{
    struct echo *echo;

    if (m->length <= MSG_SHORT) {
        msg_reply(&m->ticket, m->data, m->length);
        return;
    }
    echo = long_answer_create((uint32_t)sizeof(*echo) + m->length);
    if (echo == NULL) {
        msg_reply_error(&m->ticket, -ENOMEM);
        return;
    }
    memcpy(echo->bytes, m->data, m->length);
    long_answer_send(m, &echo->head, echo->bytes, m->length);
}

int exercise_check(const struct exercise *e)
{
    kernel_set plan = instance.kernels == 64 ? ~0ull : (1ull << instance.kernels) - 1;

    if (e->operation > KETTLE_MESSAGES_HANDLER || e->size > MSG_MAX || e->kernels == 0 || (e->kernels & ~plan) != 0 ||
        (e->kernels >> instance.kernel & 1) != 0 || (e->urgent && e->size > MSG_SHORT) ||
        (e->operation == KETTLE_MESSAGES_MULTICAST && e->size > MULTICAST_MAX) ||
        (e->operation == KETTLE_MESSAGES_HANDLER && e->size > MSG_SHORT))
        return -EINVAL;
    for (kernel_set rest = e->kernels; rest != 0; rest &= rest - 1) {
        if (!msg_peer_started((uint32_t)__builtin_ctzll(rest)))
            return -EAGAIN;
    }
    return 0;
}

/* Composes the next message of the exercise's stream to KERNEL in WORDS. */
static int compose(const struct exercise *e, uint32_t kernel, uint64_t *words)
{
    struct stream *stream;

    spin_lock(&sending_lock);
    stream = stream_find(&sending[kernel], e->stream, e->urgent ? MSG_URGENT : MSG_ORDINARY);
    if (stream != NULL) {
        words[0] = e->stream;
        words[1] = stream->number++;
        words[2] = e->seed;
    }
    spin_unlock(&sending_lock);
    if (stream == NULL)
        return -ENOMEM;
    fill(words, e->size);
    return 0;
}

static int notify(const struct exercise *e, uint32_t kernel, uint64_t *words)
{
    enum msg_type type = e->urgent ? MSG_TELL_URGENT : e->size == MSG_SHORT ? MSG_TELL : MSG_TELL_BYTES;

    if (e->seed != 0 && e->size >= CHECKED) {
        int error = compose(e, kernel, words);

        if (error != 0)
            return error;
    }
    return msg_notify(kernel, type, words, e->urgent ? MSG_SHORT : e->size);
}

/* An answer that is polled for, without a completion. */
struct polled_answer {
    volatile bool there;
    int length;
};

static void note_answer(void *context, uint32_t kernel, const void *reply, int length)
{
    struct polled_answer *answer = context;

    (void)kernel;
    (void)reply;
    answer->length = length;
    answer->there = true;
}

#define LOOKS_A_BREATH 1024u /* an answer of a kernel that has its turn comes sooner */

/* As a task that waits for one answer polls: see idle_poll_answer. The peer may have died: then a thread of this CPU
 * may have to find that out, and ends the request. */
static __attribute__((noinline)) void idle_poll_exercise(struct peer *peer, const struct polled_answer *answer)
{
    for (uint32_t i = 1; !answer->there; i++) {
        struct ring_receiver *ring = cpu_several || i % 16 == 0 ? NULL : msg_ring_of_peer(peer);

        if (ring != NULL ? msg_poll_ring(peer, ring) : (cpu_several || i % 16 == 0) && idle_poll_look() && msg_poll())
            continue;
        if (i % LOOKS_A_BREATH == 0)
            wait_ops.breathe();
        if (cpu_several)
            cpu_relax();
        else
            cpu_pause();
    }
}

static int ask_polling(const struct exercise *e, uint32_t kernel, const uint64_t *words)
{
    struct polled_answer answer = {.there = false};
    struct msg_asking asking;

    msg_ask(&asking, kernel, e->urgent ? MSG_ASK_URGENT : MSG_ASK, words, MSG_SHORT, note_answer, &answer);
    idle_poll_exercise(msg_peer(kernel), &answer);
    return answer.length;
}

static int ask(const struct exercise *e, uint32_t kernel, uint64_t *words)
{
    enum msg_type type = e->urgent ? MSG_ASK_URGENT : e->size == MSG_SHORT ? MSG_ASK : MSG_ECHO;
    uint32_t size = e->urgent ? MSG_SHORT : e->size;

    return msg_call(kernel, type, words, size, words, size, "exercise", kernel);
}

static int survey(const struct exercise *e, const uint64_t *words)
{
    bool brief = e->size <= sizeof(struct msg_survey);
    int error = 0;

    msg_multicast(e->kernels, brief ? MSG_SURVEY : MSG_SURVEY_BYTES, words,
                  brief ? (uint32_t)sizeof(struct msg_survey) : e->size, msg_note_error, &error, "exercise", 0);
    return error;
}

static int survey_one_by_one(const struct exercise *e, const uint64_t *words)
{
    bool brief = e->size <= sizeof(struct msg_survey);
    int result = 0;

    for (kernel_set rest = e->kernels; rest != 0 && result >= 0; rest &= rest - 1)
        result = msg_call((uint32_t)__builtin_ctzll(rest), brief ? MSG_SURVEY : MSG_SURVEY_BYTES, words,
                          brief ? (uint32_t)sizeof(struct msg_survey) : e->size, NULL, 0, "exercise", 0);
    return result;
}

static inline int operate(const struct exercise *e, uint32_t kernel, uint64_t *words)
{
    int result = 0;

    switch (e->operation) {
    case KETTLE_MESSAGES_ONE_WAY:
        for (kernel_set rest = e->kernels; rest != 0 && result == 0; rest &= rest - 1)
            result = notify(e, (uint32_t)__builtin_ctzll(rest), words);
        return result;
    case KETTLE_MESSAGES_ROUND_TRIP:
        return ask(e, kernel, words);
    case KETTLE_MESSAGES_HANDLER:
        return ask_polling(e, kernel, words);
    case KETTLE_MESSAGES_MULTICAST:
        return survey(e, words);
    default:
        return survey_one_by_one(e, words);
    }
}

/* Sends messages and does nothing else, so that a measurement does not include the cost of composing them. */
static int notify_plainly(uint32_t kernel, enum msg_type type, const uint64_t *words, uint32_t count)
{
    int result = 0;

    for (; count > 0 && result == 0; count--)
        result = msg_notify(kernel, type, words, MSG_SHORT);
    return result;
}

/* The same for requests, each of which is answered before the next. */
static int ask_plainly(const struct exercise *e, uint32_t kernel, const uint64_t *words, uint32_t count)
{
    int result = 0;

    for (; count > 0 && result >= 0; count--)
        result = ask_polling(e, kernel, words);
    return result;
}

int exercise_run(const struct exercise *e, uint32_t first, uint32_t count, uint64_t *samples)
{
    size_t room = e->size < MSG_SHORT ? MSG_SHORT : (e->size + 7) & ~7u;
    uint64_t *words = msg_memory.allocate_unset(room);
    kernel_set turn = e->kernels;
    bool first_cpu = !cpu_several || cpu_index() == 0;
    int result = 0;

    if (words == NULL)
        return -ENOMEM;
    memset(words, 0, room);
    assert(turn != 0); /* exercise_check has checked it */
    for (uint32_t i = first % kernel_set_count(e->kernels); i > 0; i--)
        turn &= turn - 1;
    if (e->operation == KETTLE_MESSAGES_HANDLER && first_cpu)
        msg_doorbell_disarm();
    if (samples == NULL && e->operation == KETTLE_MESSAGES_HANDLER && (turn & (turn - 1)) == 0) {
        result = ask_plainly(e, (uint32_t)__builtin_ctzll(turn), words, count);
        count = 0;
    }
    if (samples == NULL && e->operation == KETTLE_MESSAGES_ONE_WAY && e->size == MSG_SHORT && e->seed == 0 &&
        (turn & (turn - 1)) == 0) {
        result = notify_plainly((uint32_t)__builtin_ctzll(turn), e->urgent ? MSG_TELL_URGENT : MSG_TELL, words, count);
        count = 0;
    }
    for (uint32_t i = 0; i < count && result >= 0; i++) {
        uint64_t start = samples != NULL ? clock_now() : 0;

        result = operate(e, (uint32_t)__builtin_ctzll(turn), words);
        turn = (turn & (turn - 1)) != 0 ? turn & (turn - 1) : e->kernels;
        if (samples != NULL)
            samples[i] = clock_now() - start;
    }
    if (e->operation == KETTLE_MESSAGES_HANDLER && first_cpu)
        msg_doorbell_leave();
    msg_memory.release(words, room);
    return result < 0 ? result : 0;
}

int exercise_flush(const struct exercise *e)
{
    int result = 0;

    for (kernel_set rest = e->kernels; rest != 0 && result >= 0; rest &= rest - 1) {
        uint32_t kernel = (uint32_t)__builtin_ctzll(rest);
        struct msg_exercise nothing = {{0}};

        if (e->urgent)
            result = msg_call(kernel, MSG_ASK_URGENT, &nothing, sizeof(nothing), &nothing, sizeof(nothing),
                              "end of an exercise", kernel);
        else
            result = msg_call(kernel, MSG_ECHO, NULL, 0, NULL, 0, "end of an exercise", kernel);
    }
    return result < 0 ? result : 0;
}

void exercise_tally(uint32_t kernel, struct kettle_tally *tally)
{
    spin_lock(&msg_rx_lock);
    *tally = tallies[kernel];
    spin_unlock(&msg_rx_lock);
}

void msg_exercise_init(void)
{
    msg_register(MSG_TELL, handle_notify, sizeof(struct msg_exercise), 0);
    msg_register(MSG_TELL_URGENT, handle_notify, sizeof(struct msg_exercise), 0);
    msg_register(MSG_TELL_BYTES, handle_notify, 0, 0);
    msg_register(MSG_ECHO, handle_echo, 0, 0);
    msg_register(MSG_ASK, handle_ask, sizeof(struct msg_exercise), sizeof(struct msg_exercise));
    msg_register(MSG_ASK_URGENT, handle_ask, sizeof(struct msg_exercise), sizeof(struct msg_exercise));
    msg_register(MSG_SURVEY, handle_survey, sizeof(struct msg_survey), 0);
    msg_register(MSG_SURVEY_BYTES, handle_survey, 0, 0);
}
