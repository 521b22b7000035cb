/* Waits for several words at once, futex_waitv(2). Runs in a program's thread, which has one waiter in the queue of
 * each word. See tasks/futex/futex.md. */
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "mm/frame/heap.h"
#include "mm/user/user_copy.h"
#include "tasks/futex/futex.h"
#include "tasks/futex/internal.h"

/* A thread that waits in the queues of its first JOINED words. */
struct several {
    struct completion any;
    uint32_t joined;
    struct futex_part {
        struct futex_place place;
        struct futex_wait wait;
    } part[];
};

static int64_t check_word(const struct futex_expected *word, const struct futex_place *place)
{
    uint32_t value;

    if (user_read(&value, word->address, sizeof(value)) != 0)
        return -EFAULT;
    return value == word->value ? futex_release_lost_word(word->address, value, place) : -EAGAIN;
}

/* Finds and checks all words before the thread queues at any of them, which may cost messages. */
static int64_t find_all(struct several *s, const struct futex_expected *words, uint32_t count)
{
    int64_t error = 0;

    for (uint32_t i = 0; i < count && error == 0; i++) {
        error = futex_find(words[i].address, words[i].shared, &s->part[i].place);
        if (error == 0)
            error = check_word(&words[i], &s->part[i].place);
    }
    return error;
}

/* Leaves all queues. Returns the index of the last word that was woken, or -1. */
static int64_t leave_all(struct several *s)
{
    static const struct wait_reason reason = {.what = "nothing", .kernel = -1};
    int64_t woken = -1;

    for (uint32_t i = 0; i < s->joined; i++) {
        struct futex_wait *wait = &s->part[i].wait;

        if (completion_wait_until(&wait->woken, &reason, WAIT_FIRM, 1)) { /* a past deadline: does not wait */
            futex_woken(wait);
            woken = i;
        } else if (futex_leave(wait, false)) {
            woken = i;
        }
    }
    s->joined = 0;
    return woken;
}

/* Queues at all words. 0: the thread is in all queues, and every word had its expected value after it was queued there;
 * 1: it is in no queue, and word *WOKEN was woken; an error: it is in no queue. */
static int64_t join_all(struct several *s, const struct futex_expected *words, uint32_t count, int64_t *woken)
{
    int64_t error = 0;

    for (uint32_t i = 0; i < count; i++) {
        struct futex_part *part = &s->part[i];

        error = futex_join_any(&part->wait, &part->place, FUTEX_ANY, &s->any);
        if (error == 0) {
            error = check_word(&words[i], &part->place);
            if (error == 0)
                error = futex_check_place(words[i].address, &part->place);
            if (error == 0) {
                s->joined++;
                continue;
            }
            error = futex_give_up(&part->wait, &part->place, error);
        }
        *woken = leave_all(s); /* a wake at a previous word is a valid result */
        if (error == 0 && *woken < 0)
            *woken = i; /* this word was woken, and there was no other waiter to pass the wake on to */
        return *woken >= 0 ? 1 : error;
    }
    return 0;
}

int64_t futex_wait_several(const struct futex_expected *words, uint32_t count, uint64_t deadline)
{
    struct wait_reason reason = {.what = "one of its futexes", .kernel = -1, .key = words[0].address};
    size_t size = sizeof(struct several) + count * sizeof(struct futex_part);
    struct several *s = heap_alloc(size);
    int64_t woken = -1;
    int64_t result;

    if (s == NULL)
        return -ENOMEM;
    result = find_all(s, words, count);
    if (result == 0)
        result = join_all(s, words, count, &woken);
    if (result == 0) {
        completion_wait_until(&s->any, &reason, WAIT_INTERRUPTIBLE, deadline);
        woken = leave_all(s);
        result = deadline != 0 && clock_now() >= deadline ? -ETIMEDOUT : -ERESTARTSYS;
    }
    heap_free(s, size);
    return woken >= 0 ? woken : result;
}
