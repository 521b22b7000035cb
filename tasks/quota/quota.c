/* What each user has. See the header. */
#include "tasks/quota/quota.h"

#include <stdbool.h>
#include <stddef.h>

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/lib/list.h"
#include "kernel/lib/panic.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"

#define BUCKETS 64u
#define ROOT 0u
#define PIPE_SOFT_MOST 16384u /* pages, as in Linux */
#define FLYING_MOST 4096u
#define LOCKS_MOST 8192u    /* as each change of a file's locks looks at all of them */
#define WATCH_BYTES 256u    /* about, with what is beside it */
#define WATCHES_PART 25u    /* of the memory that a user's may have, as in Linux */
#define QUEUE_BYTES 819200u /* as in Linux */
#define PAGES_A_TASK 64u    /* a thread costs its kernels about half as much */

struct user {
    struct user *next;
    uint32_t uid;
    uint64_t used[QUOTAS];
};

static struct spinlock lock;          /* taken alone, or with the heap's */
static struct user *buckets[BUCKETS]; /* [k] lock: users who have something */
static uint64_t root_signals;         /* [a] */

/* Where the pointer to UID's entry is, or would be appended. */
static struct user **place_locked(uint32_t uid)
{
    struct user **at = &buckets[uid % BUCKETS];

    while (*at != NULL && (*at)->uid != uid)
        at = &(*at)->next;
    return at;
}

static bool is_unused(const struct user *user)
{
    for (uint32_t which = 0; which < QUOTAS; which++) {
        if (user->used[which] != 0)
            return false;
    }
    return true;
}

/* Of root only the signals and timers count, as on Linux. */
static bool root_take(enum quota which, uint64_t count, uint64_t limit)
{
    uint64_t used = __atomic_load_n(&root_signals, __ATOMIC_RELAXED);

    do {
        if (which != QUOTA_SIGNALS)
            return true;
        if (count > limit || used > limit - count)
            return false;
    } while (
        !__atomic_compare_exchange_n(&root_signals, &used, used + count, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return true;
}

int quota_take(enum quota which, uint32_t uid, uint64_t count, uint64_t limit, int over)
{
    struct user **at;
    int error = -ENOMEM;

    if (count == 0)
        return 0;
    if (uid == ROOT)
        return root_take(which, count, limit) ? 0 : over;
    spin_lock(&lock);
    at = place_locked(uid);
    if (*at == NULL && (*at = heap_alloc(sizeof(**at))) != NULL)
        (*at)->uid = uid;
    if (*at != NULL) {
        struct user *user = *at;

        error = count <= limit && user->used[which] <= limit - count ? 0 : over;
        if (error == 0)
            user->used[which] += count;
        if (is_unused(user)) {
            *at = user->next;
            heap_free(user, sizeof(*user));
        }
    }
    spin_unlock(&lock);
    return error;
}

void quota_give(enum quota which, uint32_t uid, uint64_t count)
{
    struct user **at, *user;

    if (uid == ROOT && which == QUOTA_SIGNALS)
        __atomic_fetch_sub(&root_signals, count, __ATOMIC_RELAXED);
    if (uid == ROOT || count == 0)
        return;
    spin_lock(&lock);
    at = place_locked(uid);
    user = *at;
    assert(user != NULL && user->used[which] >= count);
    user->used[which] -= count;
    if (is_unused(user)) {
        *at = user->next;
        heap_free(user, sizeof(*user));
    }
    spin_unlock(&lock);
}

uint64_t quota_used(enum quota which, uint32_t uid)
{
    const struct user *user;
    uint64_t used;

    if (uid == ROOT)
        return which == QUOTA_SIGNALS ? __atomic_load_n(&root_signals, __ATOMIC_RELAXED) : 0;
    spin_lock(&lock);
    user = *place_locked(uid);
    used = user != NULL ? user->used[which] : 0;
    spin_unlock(&lock);
    return used;
}

static uint64_t total_pages(void)
{
    struct frame_stats stats;

    frame_stats(&stats);
    return stats.total;
}

uint64_t quota_pipe_soft(void)
{
    uint64_t part = total_pages() / 8;

    return part < PIPE_SOFT_MOST ? part : PIPE_SOFT_MOST;
}

uint64_t quota_limit(enum quota which)
{
    switch (which) {
    case QUOTA_TASKS:
    case QUOTA_SIGNALS:
        return total_pages() / PAGES_A_TASK;
    case QUOTA_PIPE_PAGES:
        return 2 * quota_pipe_soft();
    case QUOTA_SOCKET_BYTES:
    case QUOTA_FILE_BYTES:
        return total_pages() / 4 * PAGE_SIZE;
    case QUOTA_FILE_PAGES:
        return total_pages() / 2; /* as Linux's tmpfs gives to all users together */
    case QUOTA_IPC_BYTES:
        return total_pages() / 8 * PAGE_SIZE;
    case QUOTA_WATCHES:
        return total_pages() * PAGE_SIZE / WATCHES_PART / WATCH_BYTES;
    case QUOTA_LOCKS:
        return LOCKS_MOST;
    case QUOTA_QUEUE_BYTES:
        return QUEUE_BYTES;
    default:
        return FLYING_MOST;
    }
}
