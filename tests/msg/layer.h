/* What the tests of the message layer share: handlers that write down what came, a task that waits among its peers, and
 * a process of its own for each test, as the layer's state is that of a whole instance. Included once. */
#ifndef TESTS_MSG_LAYER_H
#define TESTS_MSG_LAYER_H

#include <sys/wait.h>

#include "tests/stand_in/panic.h"
#include "tests/test.h"

#define REQUIRE(condition) CHECK(condition)

#include "tests/stand_in/peers.h"

#ifndef PEER
#define PEER 0u /* two peers of OWN */
#endif
#define OTHER 2u

#define GOT_MAX 8192u

__attribute__((unused)) static const uint64_t words[6] = {11, 22, 33, 44, 55, 66};

struct got {
    uint16_t type;
    uint32_t length;
    uint64_t time;
    struct msg_ticket ticket;
    uint8_t data[64]; /* the first bytes */
};

static struct got got[GOT_MAX];
static uint32_t got_count;
static uint8_t got_long[MSG_MAX]; /* all bytes of the last one */
static void (*respond)(const struct msg *m);

static void take_down(const struct msg *m)
{
    struct got *entry = &got[got_count++];

    CHECK(got_count <= GOT_MAX);
    *entry = (struct got){.type = m->ticket.type, .length = m->length, .time = m->time, .ticket = m->ticket};
    memcpy(entry->data, m->data, m->length < sizeof(entry->data) ? m->length : sizeof(entry->data));
    memcpy(got_long, m->data, m->length);
    if (respond != NULL)
        respond(m);
}

static const struct {
    uint16_t type;
    uint32_t size, reply_size;
} handled[] = {
    {MSG_READY, 8, 0},         {MSG_TELL, 48, 0},    {MSG_TELL_URGENT, 48, 0}, {MSG_TELL_BYTES, 0, 0},
    {MSG_SPACE_UNLOCK, 16, 0}, {MSG_ASK, 48, 48},    {MSG_ASK_URGENT, 48, 48}, {MSG_ECHO, 0, 0},
    {MSG_SURVEY, 32, 0},       {MSG_HOST, 16, 8},    {MSG_SURVEY_BYTES, 0, 0}, {MSG_SPACE_UNMAP, 32, 16},
    {MSG_GROUP_KILL, 8, 0},    {MSG_MIGRATE, 64, 0},
};

void msg_exercise_init(void)
{
    for (size_t i = 0; i < sizeof(handled) / sizeof(handled[0]); i++)
        msg_register((enum msg_type)handled[i].type, take_down, handled[i].size, handled[i].reply_size);
}

static void begin(uint32_t kernels, uint32_t nodes, const char *cmdline)
{
    peers_start(kernels, nodes, cmdline);
    peers_reach_all();
}

/* COUNT messages of TYPE from KERNEL that begin with a number, from FIRST on. */
__attribute__((unused)) static void send_numbers(uint32_t kernel, uint32_t type, uint64_t first, uint64_t count,
                                                 uint32_t length)
{
    for (uint64_t i = first; i < first + count; i++) {
        uint64_t words[6] = {i, ~i, kernel, 3, 4, 5};

        peers_put(kernel, peers_class(type), peers_header(kernel, type, (uint32_t)i & 0xffff, length), words, length);
    }
}

__attribute__((unused)) static uint64_t number_of(const struct got *entry)
{
    uint64_t number;

    memcpy(&number, entry->data, sizeof(number));
    return number;
}

/* The sum of all drops. */
__attribute__((unused)) static uint64_t dropped(void)
{
    return msg_stats.bad_type + msg_stats.bad_source + msg_stats.bad_length + msg_stats.bad_fragment +
           msg_stats.bad_loan + msg_stats.bad_header + msg_stats.late_reply + msg_stats.no_memory + msg_stats.overrun;
}

__attribute__((unused)) static void fill_bytes(uint8_t *bytes, uint32_t length, uint32_t seed)
{
    for (uint32_t i = 0; i < length; i++)
        bytes[i] = (uint8_t)(seed + i * 7 + (i >> 8) * 13);
}

__attribute__((unused)) static bool bytes_right(const uint8_t *bytes, uint32_t length, uint32_t seed)
{
    for (uint32_t i = 0; i < length; i++) {
        if (bytes[i] != (uint8_t)(seed + i * 7 + (i >> 8) * 13))
            return false;
    }
    return true;
}

/* An answer that msg_ask gets. */
struct answer {
    uint32_t count;
    uint32_t kernel;
    int length;
    uint8_t data[64];
    const void *long_expected; /* the reply's bytes, or NULL */
};

__attribute__((unused)) static void note_answer(void *context, uint32_t kernel, const void *reply, int length)
{
    struct answer *answer = context;

    answer->count++;
    answer->kernel = kernel;
    answer->length = length;
    if (length > 0)
        memcpy(answer->data, reply, (size_t)length < sizeof(answer->data) ? (size_t)length : sizeof(answer->data));
    if (length > 0 && answer->long_expected != NULL)
        CHECK(memcmp(answer->long_expected, reply, (size_t)length) == 0);
}

static const char *trial; /* which case of a test of many it is, or NULL */

/* The next message of OWN to PEER, which must be a request of TYPE: its id. */
__attribute__((unused)) static uint16_t expect_request(uint32_t type)
{
    const struct peers_message *m = peers_take(PEER, peers_class(type));

    CHECK(m != NULL && m->type == type && !m->reply && !m->error && !m->kept);
    return m->request;
}

__attribute__((unused)) static void expect_nothing(void)
{
    CHECK(peers_take(PEER, MSG_ORDINARY) == NULL && peers_take(PEER, MSG_URGENT) == NULL);
}

__attribute__((unused)) static void reply_now(uint16_t request)
{
    peers_send(PEER, MSG_ASK, PEERS_REPLY, request, words, 48);
    msg_poll();
}

/* What a waiting call sees of the peer: each request is answered with the bytes it came with. */
__attribute__((unused)) static void echo(const struct wait_reason *reason)
{
    (void)reason;
    for (uint32_t class = 0; class < MSG_CLASSES; class ++) {
        const struct peers_message *m;

        while ((m = peers_take(PEER, (enum msg_class) class)) != NULL) {
            if (!m->reply && !msg_kinds[m->type].notice)
                peers_send(PEER, m->type, PEERS_REPLY, m->request, m->data, m->length);
        }
    }
    peers_signal(PEER);
    msg_poll();
}

__attribute__((unused)) static int call(uint32_t type, const void *data, uint32_t length, void *reply, uint32_t room)
{
    return msg_call(PEER, (enum msg_type)type, data, length, reply, room, "test", 0);
}

/* Runs TEST in a process of its own. */
__attribute__((unused)) static void run_alone(void (*test)(void))
{
    int status;
    pid_t child;

    fflush(stdout);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(60); /* for one that goes round in a circle */
        if (setjmp(test_failure) == 0) {
            test();
            _exit(0);
        }
        fflush(stdout);
        _exit(1);
    }
    CHECK(waitpid(child, &status, 0) == child);
    if (trial != NULL && status != 0)
        printf("# with %s\n", trial);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#define ALONE(function, text)                                                                                          \
    static void function##_alone(void);                                                                                \
    TEST(function, text)                                                                                               \
    {                                                                                                                  \
        run_alone(function##_alone);                                                                                   \
    }                                                                                                                  \
    static void function##_alone(void)

#endif
