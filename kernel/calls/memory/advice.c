/* System calls that advise on, lock and query memory: madvise, mlock and related calls, mincore, msync. */
#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/common/files.h"
#include "kernel/calls/memory/lock_limit.h"
#include "kernel/file/permission.h"
#include "kernel/fs/node/map.h"
#include "kernel/fs/remote/remote.h"
#include "mm/area/backing.h"
#include "mm/change/change.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "mm/user/user_copy.h"
#include "msg/slice.h"
#include "tasks/account/facts.h"
#include "tasks/process/group.h"
#include "tasks/thread/thread.h"

static struct space *own_space(void)
{
    return group_space(thread_current()->group);
}

static uint64_t page_up(uint64_t bytes)
{
    return (bytes + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1);
}

/* Cuts [*START, *END) to the addresses that can have areas. Returns false if nothing is left. */
static bool clip(uint64_t *start, uint64_t *end)
{
    if (*end > USER_END)
        *end = USER_END;
    return *start < *end;
}

/* --- madvise --- */

enum advice_action {
    ADVICE_NOTHING, /* a hint that has no effect here; the range must be mapped */
    ADVICE_FLAG,    /* sets and clears bits of the areas */
    ADVICE_DISCARD,
    ADVICE_EMPTY,
    ADVICE_READ,
    ADVICE_WRITE
};

struct advice {
    uint32_t number; /* MADV_* */
    enum advice_action action;
    uint32_t forbidden, needed; /* bits of areas: see space_check */
    uint32_t set, clear;
};

#define LOCKED AREA_LOCKED
#define SHARED AREA_SHARED
#define BACKED AREA_BACKED

static const struct advice advices[] = {
    {0, ADVICE_NOTHING, 0, 0, 0, 0},                           /* NORMAL */
    {1, ADVICE_NOTHING, 0, 0, 0, 0},                           /* RANDOM */
    {2, ADVICE_NOTHING, 0, 0, 0, 0},                           /* SEQUENTIAL */
    {3, ADVICE_NOTHING, 0, 0, 0, 0},                           /* WILLNEED */
    {4, ADVICE_DISCARD, LOCKED, 0, 0, 0},                      /* DONTNEED */
    {8, ADVICE_DISCARD, LOCKED | SHARED | BACKED, 0, 0, 0},    /* FREE: at once */
    {9, ADVICE_EMPTY, 0, 0, 0, 0},                             /* REMOVE: see empty_area */
    {10, ADVICE_FLAG, 0, 0, AREA_DONTFORK, 0},                 /* DONTFORK */
    {11, ADVICE_FLAG, 0, 0, 0, AREA_DONTFORK},                 /* DOFORK */
    {14, ADVICE_FLAG, 0, 0, AREA_HUGE, AREA_NO_HUGE},          /* HUGEPAGE */
    {15, ADVICE_FLAG, 0, 0, AREA_NO_HUGE, AREA_HUGE},          /* NOHUGEPAGE */
    {16, ADVICE_NOTHING, 0, 0, 0, 0},                          /* DONTDUMP: there are no core files */
    {17, ADVICE_NOTHING, 0, 0, 0, 0},                          /* DODUMP */
    {18, ADVICE_FLAG, SHARED | BACKED, 0, AREA_WIPEONFORK, 0}, /* WIPEONFORK */
    {19, ADVICE_FLAG, 0, 0, 0, AREA_WIPEONFORK},               /* KEEPONFORK */
    {20, ADVICE_NOTHING, LOCKED, 0, 0, 0},                     /* COLD */
    {21, ADVICE_NOTHING, LOCKED, 0, 0, 0},                     /* PAGEOUT: nothing is paged out */
    {22, ADVICE_READ, 0, 0, 0, 0},                             /* POPULATE_READ */
    {23, ADVICE_WRITE, 0, 0, 0, 0},                            /* POPULATE_WRITE */
    {24, ADVICE_DISCARD, 0, 0, 0, 0},                          /* DONTNEED_LOCKED */
};

#undef LOCKED
#undef SHARED
#undef BACKED

static int punch(uint64_t backing, uint64_t pages, void *answer)
{
    return node_punch_mapped(backing, pages, answer);
}

/* Sets *AT, which is in no area, to the start of the first area behind it, or to END if that comes first. */
static int skip_hole(uint64_t *at, uint64_t end)
{
    int64_t found = space_look(own_space(), *at, SPACE_LOOK_START); /* ends leases of other kernels, unlike STOP */
    uint64_t start = (uint64_t)found & ~(PAGE_SIZE - 1);

    if (found >= 0 && start <= *at)
        return -EAGAIN; /* it is in one: there was no memory to ask, or another thread has mapped it meanwhile */
    *at = found < 0 || start > end ? end : start;
    return 0;
}

/* Empties what the area that contains *AT has of [*AT, END), or a part of that, and sets *AT to where that ends, unless
 * the area has changed meanwhile. The order of the checks is Linux's. */
static int empty_area(uint64_t *at, uint64_t end)
{
    int64_t area = space_look(own_space(), *at, SPACE_LOOK_STOP), backing;
    uint64_t start = *at, stop = (uint64_t)area & ~(PAGE_SIZE - 1);
    struct file_answer answer = {0};
    int error;

    if (area < 0)
        return area == -ENOMEM ? skip_hole(at, end) : (int)area;
    stop = stop < end ? stop : end;
    backing = space_look(own_space(), start, SPACE_LOOK_BACKING);
    if (backing < 0 || stop <= start)
        return backing < 0 ? (int)backing : 0;
    if ((area & AREA_LOCKED) != 0 || (backing == 0 && (area & AREA_SHARED) == 0))
        return -EINVAL;
    if ((area & AREA_SHARED) == 0 || (backing & (int64_t)BACKING_READ_ONLY) != 0)
        return -EACCES;
    error = backing == 0 ? space_empty(own_space(), start, stop)
                         : space_on_file(own_space(), start, stop, true, punch, &answer);
    files_settle(&answer);
    if (error == -EAGAIN)
        return 0;
    *at = stop;
    return error == -ENOMEM && backing != 0 ? -EAGAIN : error; /* ENOMEM would say that there is no area */
}

/* MADV_REMOVE: shared anonymous memory becomes zeros, and a file gets a hole. */
static int empty(uint64_t start, uint64_t end)
{
    int error = 0;

    while (start < end && error == 0)
        error = slice_check() ? -EINTR : empty_area(&start, end);
    return error;
}

static const struct advice *advice_find(uint64_t number)
{
    for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++) {
        if (advices[i].number == (uint32_t)number)
            return &advices[i];
    }
    return NULL;
}

/* Carries out ADVICE. Unless it is one of flags, the areas in the range have been checked; UNMAPPED: a part of the
 * range is in no area. */
static int advise(const struct advice *advice, uint64_t start, uint64_t end, bool unmapped)
{
    int error = 0;

    switch (advice->action) {
    case ADVICE_NOTHING:
        break;
    case ADVICE_FLAG:
        error = space_flag(own_space(), start, end, advice->forbidden, advice->set, advice->clear);
        if (error == -ENOMEM)
            error = -EAGAIN; /* there is no memory for another area */
        return error > 0 ? -ENOMEM : error;
    case ADVICE_DISCARD:
        return space_discard(own_space(), start, end - start);
    case ADVICE_EMPTY:
        error = empty(start, end);
        break;
    case ADVICE_READ:
    case ADVICE_WRITE:
        return space_fill_range(own_space(), start, end,
                                advice->action == ADVICE_WRITE ? SPACE_FILL_WRITE : SPACE_FILL_READ);
    }
    return error == 0 && unmapped ? -ENOMEM : error;
}

int64_t call_madvise(struct call *c)
{
    const struct advice *advice = advice_find(c->a[2]);
    uint64_t start = c->a[0], length = page_up(c->a[1]), end = start + length;
    bool beyond = end > USER_END;
    int unmapped;

    if (advice == NULL || (start & (PAGE_SIZE - 1)) != 0 || (c->a[1] != 0 && length == 0) || end < start)
        return -EINVAL;
    if (length == 0)
        return 0;
    if (!clip(&start, &end))
        return -ENOMEM;
    /* a change of flags checks the areas itself */
    unmapped = advice->action == ADVICE_FLAG ? 0
                                             : space_check(own_space(), start, end, advice->forbidden, advice->needed);
    if (unmapped < 0)
        return unmapped;
    unmapped = advise(advice, start, end, unmapped != 0);
    return unmapped == 0 && beyond ? -ENOMEM : unmapped;
}

/* --- locks: no page is ever paged out, so locking memory fills it --- */

#define MLOCK_ONFAULT 1u
#define MCL_CURRENT 1u
#define MCL_FUTURE 2u
#define MCL_ONFAULT 4u

static int64_t lock_range(uint64_t address, uint64_t size, bool lock, bool fill)
{
    uint64_t start = address & ~(PAGE_SIZE - 1), length = page_up(size + (address - start)), end = start + length;
    bool beyond = end > USER_END;
    int error;

    if (end < start)
        return -EINVAL;
    if (length == 0)
        return lock ? lock_limit_any() : 0;
    if (!clip(&start, &end))
        return -ENOMEM;
    error = space_flag(own_space(), start, end, 0, lock ? AREA_LOCKED : 0, lock ? 0 : AREA_LOCKED);
    if (error == -ENOLCK)
        return lock_limit_said(-ENOMEM);
    if (error > 0 || (error == 0 && beyond))
        error = -ENOMEM;
    if (error != 0 || !fill)
        return error;
    error = space_fill_range(own_space(), start, end, SPACE_FILL_BEST);
    return error == -ENOMEM ? -EAGAIN : error == -EFAULT ? -ENOMEM : error;
}

int64_t call_mlock(struct call *c)
{
    return lock_range(c->a[0], c->a[1], true, true);
}

int64_t call_mlock2(struct call *c)
{
    if ((c->a[2] & ~(uint64_t)MLOCK_ONFAULT) != 0)
        return -EINVAL;
    return lock_range(c->a[0], c->a[1], true, (c->a[2] & MLOCK_ONFAULT) == 0);
}

int64_t call_munlock(struct call *c)
{
    return lock_range(c->a[0], c->a[1], false, false);
}

/* Fills all areas, as far as there is memory. */
static void fill_all(struct space *space)
{
    uint64_t at = 0;

    for (;;) {
        int64_t start = space_look(space, at, SPACE_LOOK_START), end = space_look(space, at, SPACE_LOOK_END);

        if (start < 0 || end < 0)
            return;
        at = (uint64_t)end & ~(PAGE_SIZE - 1);
        space_fill_range(space, (uint64_t)start & ~(PAGE_SIZE - 1), at, SPACE_FILL_BEST);
    }
}

int64_t call_mlockall(struct call *c)
{
    uint64_t flags = c->a[0];
    bool current = (flags & MCL_CURRENT) != 0, fill = (flags & MCL_ONFAULT) == 0;
    int64_t error;

    if (flags == 0 || (flags & ~(uint64_t)(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT)) != 0 || flags == MCL_ONFAULT)
        return -EINVAL;
    error = lock_limit_any();
    if (error == 0)
        error = space_lock_all(own_space(), current, (flags & MCL_FUTURE) != 0, fill);
    if (error == 0 && current && fill)
        fill_all(own_space());
    return error == -ENOLCK ? -ENOMEM : error;
}

int64_t call_munlockall(struct call *c)
{
    (void)c;
    return space_unlock_all(own_space());
}

/* --- questions --- */

#define WINDOW 32u          /* pages that are looked up at a time */
#define ALL_PAGES INT64_MAX /* what those learn who may not know: all are in memory */

/* Whether the caller may know which pages of the file of BACKING are in memory: 1 if it owns the file, or may write to
 * it, else 0. Those of shared memory everybody may know. -EAGAIN: there is no memory to find out. */
static int may_know(uint64_t backing)
{
    const struct credentials *credentials = &thread_current()->context.credentials;
    const struct file_user *who;
    struct file_facts facts;
    struct file_user user;
    char name[1];
    int64_t error;

    if (!backing_is_file(backing) || backing_attached(backing) || credentials_root(credentials))
        return 1;
    error = tree_ask_mapped(backing_kernel(backing), backing_object(backing), name, sizeof(name), &facts);
    if (error != 0)
        return error == -ENOMEM ? -EAGAIN : 0;
    who = permission_user(credentials, &user) != 0 ? &user : NULL; /* root for files, with another effective user */
    return permission_owner(who, facts.uid) || permission_check(who, facts.mode, facts.uid, facts.gid, MAY_WRITE) == 0;
}

int64_t call_mincore(struct call *c)
{
    uint64_t at = c->a[0], to = c->a[2], end = at + page_up(c->a[1]);

    if ((at & (PAGE_SIZE - 1)) != 0)
        return -EINVAL;
    if (end < at || end > USER_END || (c->a[1] != 0 && end == at))
        return -ENOMEM;
    if (!user_range(to, (end - at) / PAGE_SIZE) && end != at)
        return -EFAULT;
    while (at < end) {
        int64_t area = space_look(own_space(), at, SPACE_LOOK_STOP), pages;
        int64_t backing = area < 0 ? area : space_look(own_space(), at, SPACE_LOOK_BACKING);
        uint64_t stop = (uint64_t)area & ~(PAGE_SIZE - 1);
        int known = backing > 0 ? may_know((uint64_t)backing) : 1;

        if (backing < 0 || known < 0)
            return backing < 0 ? backing : known;
        for (stop = stop < end ? stop : end; at < stop;) {
            uint32_t count = (stop - at) / PAGE_SIZE < WINDOW ? (uint32_t)((stop - at) / PAGE_SIZE) : WINDOW;
            uint8_t there[WINDOW];

            pages = known == 0 ? ALL_PAGES : space_cached_pages(own_space(), at, count, (uint64_t)backing);
            backing = (int64_t)backing_at((uint64_t)backing, (int64_t)(count * PAGE_SIZE));
            if (pages < 0)
                return pages;
            for (uint32_t i = 0; i < count; i++)
                there[i] = (uint8_t)(pages >> i & 1);
            if (user_write(to, there, count) != 0)
                return -EFAULT;
            at += count * PAGE_SIZE;
            to += count;
            if (slice_check())
                return -EINTR;
        }
    }
    return 0;
}

#define MS_ASYNC 1u
#define MS_INVALIDATE 2u
#define MS_SYNC 4u

/* Only checks the arguments: there is nothing to write back. */
int64_t call_msync(struct call *c)
{
    uint64_t start = c->a[0], end = start + page_up(c->a[1]), flags = c->a[2];
    bool beyond = end > USER_END;
    int error;

    if ((flags & ~(uint64_t)(MS_ASYNC | MS_INVALIDATE | MS_SYNC)) != 0 || (start & (PAGE_SIZE - 1)) != 0 ||
        (flags & (MS_ASYNC | MS_SYNC)) == (MS_ASYNC | MS_SYNC))
        return -EINVAL;
    if (end < start)
        return -ENOMEM;
    if (end == start)
        return 0;
    if (!clip(&start, &end))
        return -ENOMEM;
    error = space_check(own_space(), start, end, (flags & MS_INVALIDATE) != 0 ? AREA_LOCKED : 0, 0);
    if (error == -EINVAL)
        return -EBUSY;
    return error > 0 || beyond ? -ENOMEM : error;
}
