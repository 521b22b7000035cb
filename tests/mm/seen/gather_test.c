/* Reports on their way: what a relay takes along, what it does when it has no memory, and when the next kernel fails.
 * sources: mm/seen/gather.c kernel/lib/string.c */
#include "mm/seen/gather.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "kernel/wait/completion.h"
#include "kernel/wait/work.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "msg/slice.h"
#include "tests/stand_in/heap.h"
#include "tests/test.h"

#define HOME 0u
#define OTHER_HOME 1u
#define RELAY 2u
#define OWN 3u
#define KERNELS 9u
#define MESSAGES 16u

struct instance instance;

static msg_handler handler;
static uint32_t own_noted; /* reports of spaces that are at home here */
static struct work *submitted;
static void (*meanwhile)(void); /* called in a pause of a worker */

/* Messages under way. */
static struct sent {
    struct msg_asking *asking; /* NULL: answered */
    uint32_t to;
    _Alignas(8) uint8_t bytes[sizeof(struct msg_seen_list) + SEEN_REPORTS * sizeof(struct msg_space_seen)];
    uint32_t length;
    msg_answer answer;
    void *context;
} sent[MESSAGES];
static uint32_t sent_count;

/* What each kernel was answered: the errno, or the bits. */
static struct {
    uint32_t count;
    int error;
    struct msg_seen_answer answer;
} answered[KERNELS];

void msg_register(enum msg_type type, msg_handler of, uint32_t size, uint32_t reply_size)
{
    CHECK(type == MSG_SPACE_SEEN && size == sizeof(struct msg_seen_list) &&
          reply_size == sizeof(struct msg_seen_answer));
    handler = of;
}

uint32_t msg_relay_to(uint32_t root)
{
    return root == HOME ? RELAY : root;
}

void msg_ask(struct msg_asking *asking, uint32_t kernel, enum msg_type type, const void *data, uint32_t length,
             msg_answer answer, void *context)
{
    struct sent *message = &sent[sent_count++];

    CHECK(sent_count <= MESSAGES && type == MSG_SPACE_SEEN && length <= sizeof(message->bytes));
    *message = (struct sent){.asking = asking, .to = kernel, .length = length, .answer = answer, .context = context};
    memcpy(message->bytes, data, length);
}

void msg_reply(const struct msg_ticket *ticket, const void *data, uint32_t length)
{
    CHECK_EQ(length, sizeof(struct msg_seen_answer));
    answered[ticket->kernel].count++;
    answered[ticket->kernel].error = 0;
    if (data != NULL)
        memcpy(&answered[ticket->kernel].answer, data, length);
}

void msg_reply_error(const struct msg_ticket *ticket, int error)
{
    answered[ticket->kernel].count++;
    answered[ticket->kernel].error = error;
}

void msg_keep(const struct msg *m, struct msg_kept *kept, void (*cancelled)(struct msg_kept *kept))
{
    CHECK(cancelled == NULL);
    kept->ticket = m->ticket;
}

void msg_kept_reply(struct msg_kept *kept, const void *data, uint32_t length, void (*done)(struct msg_kept *kept))
{
    msg_reply(&kept->ticket, data, length);
    if (done != NULL)
        done(kept);
}

void msg_kept_reply_error(struct msg_kept *kept, int error, void (*done)(struct msg_kept *kept))
{
    msg_reply_error(&kept->ticket, error);
    if (done != NULL)
        done(kept);
}

static const struct msg_seen_list *list_of(uint32_t message)
{
    return (const struct msg_seen_list *)(const void *)sent[message].bytes;
}

static const struct msg_space_seen *report_of(uint32_t message, uint32_t report)
{
    return (const struct msg_space_seen *)(const void *)(sent[message].bytes + sizeof(struct msg_seen_list)) + report;
}

/* The receiver of message NUMBER answers. */
static void answer(uint32_t number, uint32_t soon, uint32_t shared, int error)
{
    struct msg_seen_answer reply = {soon, shared};
    struct sent *message = &sent[number];

    CHECK(message->asking != NULL);
    CHECK_EQ(message->length, sizeof(struct msg_seen_list) + list_of(number)->count * sizeof(struct msg_space_seen));
    message->asking = NULL;
    message->answer(message->context, message->to, &reply, error != 0 ? error : (int)sizeof(reply));
}

void work_submit(struct work *work)
{
    CHECK(submitted == NULL && work->rank == WORK_LEAF);
    submitted = work;
}

static void run_work(void)
{
    struct work *work = submitted;

    CHECK(work != NULL);
    submitted = NULL;
    work->run(work);
}

uint64_t rdtsc_unordered(void)
{
    return UINT64_MAX;
}

bool slice_pause(void)
{
    void (*now)(void) = meanwhile;

    meanwhile = NULL;
    if (now != NULL)
        now();
    return false;
}

void completion_signal(struct completion *done)
{
    done->done = true;
}

/* The tasks of this kernel wait, while its only message is answered. */
void msg_wait(struct completion *done, const struct wait_reason *reason)
{
    CHECK_EQ(reason->kernel, HOME);
    answer(sent_count - 1, 2, 1, 0);
    CHECK(done->done);
}

static void note(const struct msg_space_seen *seen, struct msg_seen_answer *reply)
{
    CHECK_EQ(seen->space, 7);
    own_noted++;
    *reply = (struct msg_seen_answer){1, 1};
}

static void begin(void)
{
    if (handler == NULL)
        gather_init(note);
    instance.kernel = OWN;
    instance.kernels = KERNELS;
    memset(sent, 0, sizeof(sent));
    memset(answered, 0, sizeof(answered));
    sent_count = own_noted = 0;
    heap_left = -1;
    CHECK_EQ(heap_objects, 0);
}

/* KERNEL sends COUNT reports of the tables from FIRST on to HOME_OF: its node, 1 or 2, has used the page KERNEL. */
static void arrive(uint32_t kernel, uint32_t home, uint32_t first, uint32_t count)
{
    struct {
        struct msg_seen_list head;
        struct msg_space_seen reports[SEEN_REPORTS + 1];
    } message = {.head = {home, count}};
    struct msg m = {.ticket = {.kernel = kernel & MSG_SOURCE_BITS, .type = MSG_SPACE_SEEN}, .data = &message};

    for (uint32_t i = 0; i < count && i <= SEEN_REPORTS; i++) {
        message.reports[i] = (struct msg_space_seen){
            .space = 7, .start = first + i, .node = kernel < 7 ? 1 : 2, .kernel = (uint16_t)kernel};
        seen_add(&message.reports[i], kernel);
        message.reports[i].written = 1u << kernel;
    }
    m.length = (uint32_t)(sizeof(message.head) + count * sizeof(message.reports[0]));
    handler(&m);
}

TEST(gather_together,
     "reports that wait for an answer go on in one message, those of one table by two kernels of a node, too")
{
    begin();
    arrive(4, HOME, 10, 2);
    CHECK_EQ(sent_count, 1);
    CHECK_EQ(sent[0].to, RELAY);
    CHECK(list_of(0)->home == HOME && list_of(0)->count == 2);
    arrive(5, HOME, 10, 3);
    arrive(6, HOME, 11, 2);
    arrive(7, HOME, 12, 1); /* of another node */
    CHECK_EQ(sent_count, 1);
    answer(0, 1, 2, 0);
    CHECK(answered[4].count == 1 && answered[4].error == 0);
    CHECK(answered[4].answer.soon == 1 && answered[4].answer.shared == 2);
    CHECK_EQ(sent_count, 2);
    CHECK_EQ(list_of(1)->count, 6);
    for (uint32_t i = 0; i < 6; i++) {
        uint32_t kernel = i < 3 ? 5 : i < 5 ? 6 : 7;

        CHECK_EQ(report_of(1, i)->start, i < 3 ? 10 + i : i < 5 ? 8 + i : 12);
        CHECK_EQ(report_of(1, i)->kernel, kernel);
        CHECK_EQ(report_of(1, i)->accessed[0], 1u << kernel);
        CHECK_EQ(report_of(1, i)->written, 1u << kernel);
    }
    CHECK_EQ(report_of(1, 5)->node, 2);
    CHECK_EQ(answered[5].count + answered[6].count + answered[7].count, 0);
    answer(1, 1u << 2 | 1u << 4, 1u << 5, 0);
    CHECK(answered[5].answer.soon == 4 && answered[5].answer.shared == 0);
    CHECK(answered[6].answer.soon == 2 && answered[6].answer.shared == 0);
    CHECK(answered[7].answer.soon == 0 && answered[7].answer.shared == 1);
    CHECK_EQ(sent_count, 2);
    CHECK_EQ(heap_objects, 0);
}

TEST(gather_full, "reports for which a message has no room wait for the next one, and other homes' have their own")
{
    begin();
    arrive(4, HOME, 0, 1);
    arrive(5, HOME, 10, 6);
    arrive(6, HOME, 20, 3);
    arrive(8, HOME, 30, 2);
    arrive(7, OTHER_HOME, 40, SEEN_REPORTS);
    CHECK_EQ(sent_count, 2);
    CHECK(sent[1].to == OTHER_HOME && list_of(1)->home == OTHER_HOME);
    answer(0, 0, 0, 0);
    CHECK_EQ(sent_count, 3);
    CHECK(list_of(2)->count == 8 && report_of(2, 6)->start == 30);
    answer(2, 0, 1u << 7, 0);
    CHECK_EQ(answered[8].answer.shared, 2);
    CHECK(answered[5].count == 1 && answered[6].count == 0);
    CHECK(list_of(3)->count == 3 && report_of(3, 0)->start == 20);
    answer(3, 7, 0, 0);
    CHECK_EQ(answered[6].answer.soon, 7);
    answer(1, 0, 0xff, 0);
    CHECK_EQ(answered[7].answer.shared, 0xff);
    CHECK_EQ(heap_objects, 0);
}

TEST(gather_dead_relay,
     "what a relay does not take goes to the home itself, and is lost if that does not take it either")
{
    begin();
    arrive(4, HOME, 0, 1);
    arrive(5, HOME, 10, 1);
    answer(0, 0, 0, -EHOSTDOWN);
    CHECK_EQ(sent_count, 2);
    CHECK_EQ(sent[1].to, HOME);
    CHECK_EQ(answered[4].count, 0);
    answer(1, 1, 0, 0);
    CHECK(answered[4].count == 1 && answered[4].error == 0 && answered[4].answer.soon == 1);
    CHECK_EQ(sent[2].to, RELAY); /* it may run again */
    arrive(6, HOME, 20, 1);
    answer(2, 0, 0, -EAGAIN);
    answer(3, 0, 0, -EHOSTDOWN);
    CHECK(answered[5].count == 1 && answered[5].error == -EHOSTDOWN);
    CHECK(answered[6].count == 1 && answered[6].error == -EHOSTDOWN);
    CHECK_EQ(sent_count, 4);
    CHECK_EQ(heap_objects, 0);
}

TEST(gather_short_answer, "an answer of another length is none")
{
    begin();
    arrive(4, OTHER_HOME, 0, 1);
    sent[0].answer(sent[0].context, OTHER_HOME, &sent[0], 4);
    CHECK(answered[4].count == 1 && answered[4].error == -EPROTO);
    CHECK_EQ(heap_objects, 0);
}

TEST(gather_refused, "no letter goes round, wrong ones are refused, and one without memory is the sender's again")
{
    begin();
    arrive(4, HOME, 0, 0);
    CHECK_EQ(answered[4].error, -EPROTO);
    arrive(5, HOME, 0, SEEN_REPORTS + 1);
    CHECK_EQ(answered[5].error, -EPROTO);
    arrive(6, KERNELS, 0, 1);
    CHECK_EQ(answered[6].error, -EPROTO);
    arrive(7, 7, 0, 1); /* its own */
    CHECK_EQ(answered[7].error, -EPROTO);
    arrive(RELAY, HOME, 0, 1); /* it has a lower number */
    CHECK_EQ(answered[RELAY].error, -EPROTO);
    heap_left = 0;
    arrive(8, HOME, 0, 1);
    CHECK_EQ(answered[8].error, -EAGAIN);
    CHECK_EQ(sent_count, 0);
    arrive(RELAY, OWN, 0, 2); /* to this kernel itself, by anyone: none is noted in the handler */
    CHECK(own_noted == 0 && answered[RELAY].error == -EAGAIN);
    CHECK(submitted == NULL);
}

static void arrive_meanwhile(void)
{
    arrive(6, OWN, 5, 1);
}

TEST(gather_home,
     "at the home one worker notes what comes, in order and with pauses, and another one when it has ended")
{
    begin();
    arrive(RELAY, OWN, 0, 3);
    arrive(5, OWN, 0, 2);
    CHECK(own_noted == 0 && answered[RELAY].count == 0);
    meanwhile = arrive_meanwhile;
    run_work();
    CHECK_EQ(own_noted, 6);
    CHECK(answered[RELAY].answer.soon == 7 && answered[RELAY].answer.shared == 7);
    CHECK(answered[5].answer.soon == 3 && answered[6].answer.soon == 1);
    CHECK(submitted == NULL && sent_count == 0);
    arrive(7, OWN, 9, 1);
    CHECK_EQ(answered[7].count, 0);
    run_work();
    CHECK_EQ(answered[7].count, 1);
    CHECK_EQ(heap_objects, 0);
}

static uint32_t noted_at_pause;

static void note_pause(void)
{
    noted_at_pause = own_noted;
}

TEST(gather_own, "this kernel's own reports go with the others, or are noted at once where this is the home")
{
    struct msg_space_seen seen[2] = {{.space = 7, .start = 1, .node = 1}, {.space = 7, .start = 2, .node = 1}};
    struct msg_seen_answer reply = {0};

    begin();
    heap_left = 0;
    gather_report(HOME, seen, 2, &reply);
    CHECK(reply.soon == 2 && reply.shared == 1);
    meanwhile = note_pause;
    gather_report(OWN, seen, 2, &reply);
    CHECK(own_noted == 2 && reply.soon == 3 && reply.shared == 3);
    CHECK_EQ(noted_at_pause, 1); /* others do not wait for both */
    CHECK_EQ(sent_count, 1);
}
