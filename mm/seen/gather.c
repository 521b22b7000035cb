/* Reports of accesses on their way. See the header. A letter is what one kernel has sent here, or this kernel's driver:
 * reports for one home. One letter for each home leads: its message, with what others could be added to it, is under
 * way to the home or to the next relay. The others wait until it is answered, and then the first of them leads. So
 * there is one message for a home under way from each kernel, and the slower the home answers, the more each message
 * has. At the home letters wait for a worker, which notes them one after the other. */
#include "mm/seen/gather.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "kernel/wait/completion.h"
#include "kernel/wait/work.h"
#include "mm/frame/heap.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "msg/slice.h"

enum letter_state { LETTER_WAITS, LETTER_LEADS, LETTER_RIDES };

struct message {
    struct msg_seen_list head;
    struct msg_space_seen reports[SEEN_REPORTS];
};

/* All fields that change: lock. */
struct letter {
    struct list node; /* in letters, in the order in which they came; or of those that are to be answered */
    enum letter_state state;
    bool direct;              /* it leads, and goes to the home after a relay has failed */
    bool own;                 /* [i] of this kernel's driver, which waits for DONE; else KEPT is answered */
    uint32_t home, count;     /* [i] of its reports, the first ones of MESSAGE */
    uint32_t first;           /* where they begin in the message under way */
    struct letter *leader;    /* in whose message it is, when it does not wait */
    struct msg_asking asking; /* while it leads */
    struct message message;   /* its reports; while it leads, also those of others */
    struct completion done;
    struct msg_seen_answer answer;
    struct msg_kept kept;
};

static gather_note *note_here;
static struct spinlock lock;   /* no other lock is held with it */
static struct list letters;    /* [k] lock: on their way */
static struct list arrived;    /* [k] lock: at home here, and not noted yet */
static bool notes;             /* [k] lock: a worker notes them */
static struct work note_works; /* submitted when NOTES becomes true */

/* Adds the reports of LETTER to the message of LEADER. False: there is no room for all, and nothing has changed. */
static bool add_locked(struct letter *leader, struct letter *letter)
{
    struct message *message = &leader->message;

    if (letter->count > SEEN_REPORTS - message->head.count)
        return false;
    letter->first = message->head.count;
    memcpy(&message->reports[letter->first], letter->message.reports, letter->count * sizeof(message->reports[0]));
    message->head.count += letter->count;
    letter->state = LETTER_RIDES;
    letter->leader = leader;
    return true;
}

/* LETTER leads from now on, and takes those along that wait and that there is room for. */
static void lead_locked(struct letter *letter)
{
    letter->state = LETTER_LEADS;
    letter->leader = letter;
    letter->first = 0;
    list_for_each(node, &letters) {
        struct letter *other = container_of(node, struct letter, node);

        if (other->state == LETTER_WAITS && other->home == letter->home)
            add_locked(letter, other);
    }
}

static void free_letter(struct msg_kept *kept)
{
    struct letter *letter = container_of(kept, struct letter, kept);

    heap_free(letter, sizeof(*letter));
}

/* LETTER, which is in no list, is answered by ANSWER to the message in which it was, or has failed with ERROR (ANSWER
 * is NULL). It is not to be used afterwards. */
static void end(struct letter *letter, const struct msg_seen_answer *answer, int error)
{
    struct msg_seen_answer own = {0};

    if (answer != NULL) {
        uint32_t mine = (1u << letter->count) - 1;

        own.soon = answer->soon >> letter->first & mine;
        own.shared = answer->shared >> letter->first & mine;
    }
    if (letter->own) {
        letter->answer = own;
        completion_signal(&letter->done);
    } else if (error != 0) {
        msg_kept_reply_error(&letter->kept, error, free_letter);
    } else {
        msg_kept_reply(&letter->kept, &own, sizeof(own), free_letter);
    }
}

static void answered(void *context, uint32_t kernel, const void *reply, int length);

static void send(struct letter *letter, uint32_t to)
{
    const struct message *message = &letter->message;
    size_t length = sizeof(message->head) + message->head.count * sizeof(message->reports[0]);

    msg_ask(&letter->asking, to, MSG_SPACE_SEEN, message, (uint32_t)length, answered, letter);
}

/* The message of the leader CONTEXT has been answered, or could not be sent. What a relay has not passed on goes to the
 * home itself; if the relay has died, it may have passed it on, and is counted twice. What the home does not take is
 * lost, and so is all that waits for it, so that letters which cannot be sent end here. */
static void answered(void *context, uint32_t kernel, const void *reply, int length)
{
    struct letter *leader = context, *next = NULL;
    struct msg_seen_answer answer;
    int error = length == (int)sizeof(answer) ? 0 : length < 0 ? length : -EPROTO;
    struct list over;

    if (error != 0 && kernel != leader->home && !leader->direct) {
        leader->direct = true;
        send(leader, leader->home);
        return;
    }
    if (error == 0)
        memcpy(&answer, reply, sizeof(answer));
    list_init(&over);
    spin_lock(&lock);
    list_for_each_safe(node, &letters) {
        struct letter *letter = container_of(node, struct letter, node);

        if (letter->home != leader->home)
            continue;
        if (letter->leader == leader || error != 0) {
            list_remove(node);
            list_append(&over, node);
        } else if (next == NULL) {
            next = letter;
            lead_locked(next);
        }
    }
    spin_unlock(&lock);
    if (next != NULL)
        send(next, msg_relay_to(next->home));
    list_for_each_safe(node, &over) {
        struct letter *letter = container_of(node, struct letter, node);

        list_remove(node);
        end(letter, error == 0 ? &answer : NULL, error);
    }
}

/* Puts LETTER into the list, and sends it unless another one for its home is under way. */
static void post(struct letter *letter)
{
    bool leads = true;

    spin_lock(&lock);
    list_for_each(node, &letters) {
        if (container_of(node, struct letter, node)->home == letter->home)
            leads = false; /* one of them leads */
    }
    list_append(&letters, &letter->node);
    if (leads)
        lead_locked(letter);
    spin_unlock(&lock);
    if (leads)
        send(letter, msg_relay_to(letter->home));
}

static void begin(struct letter *letter, uint32_t home, const struct msg_space_seen *seen, uint32_t count)
{
    letter->state = LETTER_WAITS;
    letter->leader = NULL;
    letter->direct = false;
    letter->home = letter->message.head.home = home;
    letter->count = letter->message.head.count = count;
    memcpy(letter->message.reports, seen, count * sizeof(*seen));
    list_init(&letter->node);
}

/* Notes COUNT reports from SEEN on, a report at a time: threads here, and messages, do not wait for more. */
static void note_all(const struct msg_space_seen *seen, uint32_t count, struct msg_seen_answer *answer)
{
    *answer = (struct msg_seen_answer){0};
    for (uint32_t i = 0; i < count; i++) {
        struct msg_seen_answer one;

        note_here(&seen[i], &one);
        answer->soon |= (one.soon & 1) << i;
        answer->shared |= (one.shared & 1) << i;
        slice_check();
    }
}

void gather_report(uint32_t home, const struct msg_space_seen *seen, uint32_t count, struct msg_seen_answer *answer)
{
    struct wait_reason reason = {.what = "accesses that were seen", .kernel = (int32_t)home, .key = seen->start};
    struct letter letter = {.own = true};

    if (home == instance.kernel) {
        note_all(seen, count, answer);
        return;
    }
    begin(&letter, home, seen, count);
    completion_init(&letter.done);
    post(&letter);
    msg_wait(&letter.done, &reason);
    *answer = letter.answer;
}

/* Takes the next letter that has arrived. NULL: there is none, and the worker ends. */
static struct letter *take_arrived(void)
{
    struct letter *letter = NULL;

    spin_lock(&lock);
    if (list_empty(&arrived)) {
        notes = false;
    } else {
        letter = container_of(arrived.next, struct letter, node);
        list_remove(&letter->node);
    }
    spin_unlock(&lock);
    return letter;
}

static void note_arrived(struct work *work)
{
    struct letter *letter;

    (void)work;
    while ((letter = take_arrived()) != NULL) {
        struct msg_seen_answer answer;

        note_all(letter->message.reports, letter->count, &answer);
        msg_kept_reply(&letter->kept, &answer, sizeof(answer), free_letter);
    }
}

static void arrive(struct letter *letter)
{
    bool first;

    spin_lock(&lock);
    list_append(&arrived, &letter->node);
    first = !notes;
    notes = true;
    spin_unlock(&lock);
    if (first)
        work_submit(&note_works);
}

/* A relay's senders have higher numbers, so that no letter goes round. */
static bool is_valid(const struct msg *m, const struct msg_seen_list *list)
{
    return list->count != 0 && list->count <= SEEN_REPORTS &&
           m->length == sizeof(*list) + list->count * sizeof(struct msg_space_seen) && list->home < instance.kernels &&
           list->home != m->ticket.kernel && (list->home == instance.kernel || m->ticket.kernel > instance.kernel);
}

static void handle_seen(const struct msg *m)
{
    const struct msg_seen_list *list = m->data;
    const struct msg_space_seen *seen = (const struct msg_space_seen *)(const void *)(list + 1);
    struct letter *letter;

    if (!is_valid(m, list)) {
        msg_reply_error(&m->ticket, -EPROTO);
        return;
    }
    letter = heap_alloc_unset(sizeof(*letter));
    if (letter == NULL) {
        msg_reply_error(&m->ticket,
                        -EAGAIN); /* a relay's sender goes to the home itself, the home's loses an observation */
        return;
    }
    letter->own = false;
    begin(letter, list->home, seen, list->count);
    msg_keep(m, &letter->kept, NULL);
    if (list->home == instance.kernel)
        arrive(letter);
    else
        post(letter);
}

void gather_init(gather_note *note)
{
    list_init(&letters);
    list_init(&arrived);
    note_works = (struct work){.rank = WORK_LEAF, .run = note_arrived};
    note_here = note;
    msg_register(MSG_SPACE_SEEN, handle_seen, sizeof(struct msg_seen_list), sizeof(struct msg_seen_answer));
}
