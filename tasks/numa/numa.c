/* The driver of accesses that are seen. See the header. It runs in a timer, so that nothing of it is under way while
 * programs are quiesced. */
#include "tasks/numa/numa.h"

#include <stddef.h>

#include "boot/options/control.h"
#include "boot/options/options.h"
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/lib/string.h"
#include "mm/move/move.h"
#include "mm/replicate/replicate.h"
#include "mm/seen/block.h"
#include "mm/seen/gather.h"
#include "mm/seen/hint.h"
#include "mm/seen/seen.h"
#include "mm/space/account.h"
#include "msg/slice.h"
#include "msg/trace.h"
#include "tasks/numa/draw.h"
#include "tasks/numa/groups.h"
#include "tasks/numa/period.h"
#include "tasks/process/group.h"
#include "tasks/timer/timer.h"

#define PERIOD_HALF PERIOD_MOST /* after which what was seen counts half */
#define MS 1000000ull
#define MOVES_AT_ONCE 0x400000u /* bytes of a space that move between two looks */
#define REPORTERS 8u
#define SOON 8u /* part of the shortest period after which a kernel looks that begins to use remote memory */

static struct timer timer;
static uint64_t shortest = 100000000; /* ns */
static volatile uint64_t period;      /* [a] */
static volatile uint64_t looked;      /* [a] when the last look at the tables ended */
static volatile uint64_t answered;    /* [a] ns: how long the homes took to answer its reports, all together */
static struct seen_account account;   /* of its looks; the timer alone uses it, and PAID */
static uint64_t paid;                 /* when its looks so far will have been paid */

static bool is_on(void)
{
    return seen_policies[seen_policy_now].choose != NULL;
}

/* What is known of a space, and what a look at it has found. */
struct look {
    uint32_t home;
    bool wanted;               /* it has a policy */
    uint64_t waited;           /* ns: for answers to reports */
    uint64_t spent;            /* ns: on looking, and at the home on noting what was found */
    bool soon;                 /* the home is about to decide, or has just decided, about memory that was used */
    struct period_found found; /* LOCAL and REMOTE of this space, so far */
    uint32_t reports_home;     /* to which the COUNT reports go that have not been sent */
    uint32_t count;
    struct msg_space_seen reports[SEEN_REPORTS];
};

static void look_begin(struct look *look, struct space *space)
{
    look->home = space->home;
    spin_lock(&space->lock);
    seen_refresh_locked(space);
    look->wanted = seen_policy_locked(space)->choose != NULL;
    if (look->wanted)
        seen_save_locked(space);
    look->found.local = space->stats.seen_local;
    look->found.remote = space->stats.seen_remote;
    spin_unlock(&space->lock);
}

/* Sends the reports that LOOK has, if any, and waits for what the home says of them. */
static void send(struct look *look)
{
    uint64_t from = clock_now();
    struct msg_seen_answer answer;

    if (look->count == 0)
        return;
    gather_report(look->reports_home, look->reports, look->count, &answer);
    if (look->reports_home != instance.kernel)
        look->waited += clock_now() - from;
    else
        look->spent += clock_now() - from;
    look->soon |= answer.soon != 0;
    for (uint32_t i = 0; i < look->count; i++) {
        uint32_t pages = seen_count_pages(&look->reports[i]);

        look->found.told += pages;
        look->found.shared += (answer.shared >> i & 1) != 0 ? pages : 0;
    }
    look->count = 0;
}

/* SEEN is to be reported to HOME. */
static void report(struct look *look, uint32_t home, const struct msg_space_seen *seen)
{
    if (look->count == SEEN_REPORTS || (look->count != 0 && look->reports_home != home))
        send(look);
    look->reports_home = home;
    look->reports[look->count++] = *seen;
}

/* Looks at the next table of the space ID from *AT on, with a reference that is not held while anything waits. False:
 * there is none, or no such space. */
static bool look_once(uint64_t id, uint64_t *at, struct look *look)
{
    struct space *space = space_get(id);
    uint64_t from = clock_now();
    struct msg_space_seen seen;
    bool found = false, more;

    if (space == NULL)
        return false;
    more = seen_look(space, at, &found, &seen);
    look_begin(look, space);
    space_put(space);
    look->spent += clock_now() - from;
    if (found)
        report(look, look->home, &seen);
    return more;
}

/* Reports what faults have shown in one table of the space ID. *REMOTE: memory of another node. False: nothing more. */
static bool report_hints(uint64_t id, struct look *look, bool *remote)
{
    struct space *space = space_get(id);
    struct msg_space_seen seen;
    uint32_t home;
    bool found;

    if (space == NULL)
        return false;
    home = space->home;
    spin_lock(&space->lock);
    found = hint_next_locked(space, &seen, remote);
    spin_unlock(&space->lock);
    space_put(space);
    if (found)
        report(look, home, &seen);
    return found;
}

/* Returns whether it is worth looking again soon: other nodes' memory was used so much, and something is to come of it.
 */
static bool look_at(uint64_t id, struct look *look)
{
    struct period_found here = look->found;
    uint64_t from = clock_now();
    bool used = false, hinted;

    look->found.watched |= numa_tell_groups(id, look->home);
    if (look->home != instance.kernel)
        look->waited += clock_now() - from;
    while (look->wanted && report_hints(id, look, &hinted)) {
        used |= hinted;
        slice_check();
    }
    for (uint64_t at = 0; look->wanted && look_once(id, &at, look);)
        slice_check();
    send(look);
    here.local = look->found.local - here.local;
    here.remote = look->found.remote - here.remote;
    return look->soon && (used || period_remote(&here));
}

/* A block that follows its user to NODE. */
struct following {
    struct space *space;
    uint32_t node;
};

/* The page is locked: a policy that it gets later finds it where it is then. */
static uint64_t follow_wanted(void *context, uint64_t page, uint32_t node)
{
    const struct following *following = context;

    (void)node;
    return 1ull << following->node & seen_may_follow(following->space, page);
}

/* What cannot move stays where it is used from afar. Pages that nobody has touched are no reason for a block to stay.
 */
static void follow_done(void *context, uint64_t page, int result)
{
    const struct following *following = context;

    if (result == -EBUSY || result == -EACCES)
        seen_not_moved(following->space, page, SEEN_ANY_NODE);
    else if (result == -ENOMEM)
        seen_not_moved(following->space, page, following->node);
}

/* A block of which no page can have copies, as it is shared memory or a mempolicy wants it elsewhere, is as one whose
 * replication has failed. */
static void replicate_block(struct space *space, uint64_t start, uint64_t bytes)
{
    uint64_t next = start;
    int64_t result = 0, pages = 0;

    while (result >= 0 && next < start + bytes) {
        result = space_replicate(space, &next, start + bytes, true);
        pages += result;
    }
    if (result < 0 || pages == 0)
        seen_not_replicated(space, start, start + bytes);
}

static void move_blocks(struct space *space)
{
    struct following following = {.space = space};
    struct space_moves moves = {.wanted = follow_wanted, .done = follow_done, .context = &following};
    uint64_t start, bytes, from;
    uint32_t lately;
    bool more = seen_spend(space, 0);

    for (uint64_t moved = 0;
         more && moved < MOVES_AT_ONCE && seen_next(space, &start, &bytes, &following.node, &lately); moved += bytes) {
        from = clock_now();
        trace_note("moves memory to this node", (uint32_t)space->id, instance.kernel,
                   start / (SEEN_BLOCK_PAGES * PAGE_SIZE), following.node);
        if (following.node == SEEN_REPLICATE)
            replicate_block(space, start, bytes);
        else
            space_move(space, start, start + bytes, &moves);
        more = seen_spend(space, (clock_now() - from) << lately); /* what comes back is dear */
        slice_check();
    }
}

/* Moves memory of the process, whose end waits for it, and then a thread. */
static void follow(uint64_t id)
{
    struct group *group = group_find((uint32_t)id), *host;

    if (group == NULL)
        return;
    if (group_pin(group, &host) == 0) {
        move_blocks(host->space);
        group_unpin(host);
    }
    group_put(group);
    numa_draw(id);
}

/* The lowest id of a space here that is not below FROM, and its pages of other nodes so far. CALM: this look comes
 * after a period that is so long only where no other node has a share. False: there is none. */
static bool next_space(uint64_t from, uint64_t *id, struct look *look, bool calm)
{
    struct space *space = space_next(from);

    if (space == NULL)
        return false;
    *id = space->id;
    look->soon = false;
    look_begin(look, space);
    if (calm && look->wanted) {
        spin_lock(&space->lock);
        space->stats.seen_calm++;
        spin_unlock(&space->lock);
    }
    space_put(space);
    return true;
}

static void set_period(uint64_t wanted)
{
    period = period_within(wanted, shortest, false);
}

/* Kernels of whose memory others have begun to use some are to look soon. */
static void tell(uint64_t id)
{
    struct space *space = space_get(id);
    kernel_set kernels;

    if (space == NULL)
        return;
    kernels = seen_to_tell(space);
    space_put(space);
    seen_tell(kernels, id);
}

/* WAIT ns, or as long as the last reports have waited for their answers, and on a machine of more than REPORTERS
 * kernels as many times longer: a home that all of them report to has as much time for other things as for reports. */
static uint64_t at_least(uint64_t wait)
{
    uint64_t pause = answered * ((instance.plan.kernel_count + REPORTERS - 1) / REPORTERS);

    return wait > pause ? wait : pause;
}

/* A look that has ended at NOW has cost SPENT ns. No more is owed than can be saved. */
static void pay(uint64_t now, uint64_t spent)
{
    seen_account_pay(&account, spent);
    seen_account_fill(&account, &seen_looks, now, seen_half_ns, 1);
    paid = now + seen_account_wait(&account, &seen_looks);
}

/* Whether threads of the space ID, which is at home here, may be drawn: tallies are read after a look. */
static bool is_watched(uint64_t id)
{
    struct space *space = space_get(id);
    bool watched;

    if (space == NULL)
        return false;
    watched = seen_draws(space);
    space_put(space);
    return watched;
}

/* A look is over that ends a period. REMOTE: as period_after's SOON. What soon() does meanwhile on another CPU, for
 * memory that others begin to use, is not put off: it is told once. */
static void next_period(bool remote, const struct period_found *found)
{
    uint64_t before = period, next = period_after(before, shortest, remote, found);

    __atomic_compare_exchange_n(&period, &before, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* The next look is a period after the last one; or, if its time has come, when looks have been paid. */
static void arm(bool due)
{
    uint64_t armed;

    do {
        armed = period;
        timer_arm(&timer, due ? looked + at_least(armed) : paid);
    } while (due && period != armed);
}

static void fire(struct timer *fired)
{
    (void)fired;
    bool due = clock_now() >= paid; /* else nobody looks, but what is to move does */
    bool remote = false, wanted = is_on(), calm = due && period > PERIOD_MOST * shortest;
    struct look look = {0};

    numa_look_for_room();
    for (uint64_t id = 0; next_space(id, &id, &look, calm); id++) {
        if (!look.wanted)
            continue;
        wanted = true;
        remote |= due && look_at(id, &look);
        if (look.home != instance.kernel)
            continue;
        tell(id);
        follow(id);
        look.found.watched |= is_watched(id);
    }
    looked = clock_now();
    if (due) {
        answered = look.waited;
        pay(looked, look.spent);
        next_period(remote, &look.found);
    }
    if (wanted)
        arm(due);
}

/* A kernel that has lengthened its period does not wait for its end when it begins to use another node's memory, or
 * another node its own. */
static void soon(void)
{
    uint64_t at = clock_now() + shortest / SOON;

    if (period <= shortest)
        return;
    period = shortest;
    timer_arm(&timer, at > looked + at_least(shortest) ? at : looked + at_least(shortest));
}

/* Also with the lock of a space held. */
static void begin(void)
{
    timer_arm(&timer, clock_now() + PERIOD_FIRST * shortest);
}

static void set(const char *value)
{
    seen_policy_now = option_index("numa", value);
    if (!is_on())
        seen_ends++;
    set_period(PERIOD_FIRST * shortest);
    if (is_on())
        timer_arm(&timer, clock_now() + period);
}

static void set_way(const char *value)
{
    seen_way_now = option_index("numasee", value);
}

static void set_shortest(const char *value)
{
    uint64_t ms;

    if (!option_parse_number(value, PERIOD_LIMIT / MS, &ms) || ms == 0)
        return;
    shortest = ms * MS;
    seen_half_ns = PERIOD_HALF * shortest;
    set_period(PERIOD_FIRST * shortest);
    timer_arm(&timer, clock_now() + period); /* also for a space with a policy of its own */
}

static void set_block(const char *value)
{
    uint64_t kib;

    if (strcmp(value, "adaptive") == 0)
        seen_block_bytes = 0;
    else if (option_parse_number(value, 2048, &kib) && kib >= 4 && (kib & (kib - 1)) == 0)
        seen_block_bytes = kib * 1024;
}

const char *numa_policy(void)
{
    return seen_policies[seen_policy_now].name;
}

void numa_init(void)
{
    static struct option option = {.name = "numa", .set = set};
    static struct option of_way = {.name = "numasee", .set = set_way};
    static struct option of_block = {.name = "numablock", .set = set_block};
    static struct option of_period = {.name = "numaperiod", .set = set_shortest};

    timer_init(&timer, fire);
    timer.standing = true;
    seen_begin = begin;
    seen_soon = soon;
    option_add(&of_way);
    option_add(&of_period);
    option_add(&of_block);
    option_add(&option);
}
