/* Waits for several words at once. See tasks/futex/futex.md. */
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "mm/frame/heap.h"
#include "mm/user/user_copy.h"
#include "tasks/futex/futex.h"
#include "tasks/futex/internal.h"

/* A thread in the queues of several words; JOINED of them. */
struct several {
    struct completion any;
    uint32_t joined;
    struct futex_part {
        struct futex_place place;
        struct futex_wait wait;
    } part[];
};

static int64_t check_word(const struct futex_expected *word)
{
    uint32_t value;

    if (user_read(&value, word->address, sizeof(value)) != 0)
        return -EFAULT;
    return value == word->value ? 0 : -EAGAIN;
}

/* All words are checked before anybody is bothered. */
static int64_t find_all(struct several *s, const struct futex_expected *words, uint32_t count)
{
    int64_t error = 0;

    for (uint32_t i = 0; i < count && error == 0; i++) {
        error = futex_find(words[i].address, words[i].shared, &s->part[i].place);
        if (error == 0)
            error = check_word(&words[i]);
    }
    return error;
}

/* Leaves all queues. Which word's wake was the last, or -1. */
static int64_t leave_all(struct several *s)
{
    static const struct wait_reason reason = {.what = "nothing", .kernel = -1};
    int64_t woken = -1;

    for (uint32_t i = 0; i < s->joined; i++) {
        struct futex_wait *wait = &s->part[i].wait;

        if (completion_wait_until(&wait->woken, &reason, WAIT_FIRM, 1)) { /* a look: its time is over already */
            futex_woken(wait);
            woken = i;
        } else if (futex_leave(wait, false)) {
            woken = i;
        }
    }
    s->joined = 0;
    return woken;
}

/* 0: it is in all queues, and no word has changed before it was; 1: it is in none, and *WOKEN was woken. */
static int64_t join_all(struct several *s, const struct futex_expected *words, uint32_t count, int64_t *woken)
{
    int64_t error = 0;

    for (uint32_t i = 0; i < count; i++) {
        struct futex_part *part = &s->part[i];

        error = futex_join_any(&part->wait, &part->place, FUTEX_ANY, &s->any);
        if (error == 0) {
            error = check_word(&words[i]);
            if (error == 0) {
                s->joined++;
                continue;
            }
            error = futex_give_up(&part->wait, &part->place, error);
        }
        *woken = leave_all(s); /* of those before, before their words changed */
        if (error == 0 && *woken < 0)
            *woken = i; /* nobody else was there for this one's wake */
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
