/* Moves pages: the mover's side. mm/fault/still.c is that of each kernel that maps them. See the header and
 * mm/move/move.md. */
#include "mm/move/move.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/window.h"
#include "kernel/lib/log.h"
#include "mm/fault/still.h"
#include "mm/frame/content.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"
#include "mm/frame/reference.h"
#include "mm/lease/lease.h"
#include "mm/lock/lock.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/move/internal.h"
#include "mm/move/wire.h"
#include "mm/page/question.h"
#include "mm/space/entry.h"
#include "mm/space/wire.h"
#include "msg/call.h"
#include "msg/slice.h"

/* A run of pages that moves under one lock. */
struct moving {
    struct space *space;
    const struct space_moves *moves;
    struct space_lock lock;
    uint64_t start;
    uint32_t count;
    kernel_set others;                /* that may map one of the pages, besides the home and this kernel */
    struct msg_space_change change;   /* that all of them are asked for */
    int error;                        /* the first one of a round */
    struct releasing old;             /* frames of other kernels that no kernel maps any more */
    struct frame_runs own;            /* such frames of this kernel */
    uint64_t nodes[SPACE_CHOSEN_MAX]; /* to which a page may go */
    uint64_t words[LEAF_ENTRIES];     /* move_find */
};

static void report(const struct moving *moving, uint32_t index, int result)
{
    moving->moves->done(moving->moves->context, moving->start + index * PAGE_SIZE, result);
}

static void report_set(const struct moving *moving, uint64_t set, int result)
{
    for (; set != 0; set &= set - 1)
        report(moving, (uint32_t)__builtin_ctzll(set), result);
}

static void report_all(const struct moving *moving, int result)
{
    for (uint32_t i = 0; i < moving->count; i++)
        report(moving, i, result);
}

/* --- a round: every kernel that may map the pages performs an operation on its entries --- */

static int64_t apply_here(struct moving *moving)
{
    struct space *space = moving->space;
    int64_t value;

    spin_lock(&space->lock);
    if (moving->change.operation == MSG_SPACE_STILL)
        value = space_apply_still_locked(space, &moving->change);
    else if (moving->change.operation == MSG_SPACE_REPLACE)
        value = space_apply_replace_locked(space, &moving->change);
    else
        value = space_apply_writable_locked(space, &moving->change);
    spin_unlock(&space->lock);
    return value;
}

static void note_answer(void *context, uint32_t kernel, const void *reply, int length)
{
    struct moving *moving = context;

    (void)kernel;
    (void)reply;
    if (moving->error == 0 && length != (int)sizeof(struct msg_space_changed))
        moving->error = length < 0 ? length : -EPROTO;
}

/* The home is first: whoever gets a page from it afterwards gets it as it will be, and whoever has got one before is
 * asked, too. */
static void ask_home(struct moving *moving)
{
    static const struct msg_policy policy = {.end = WAIT_FIRM, .sure = true};
    struct space *space = moving->space;
    struct msg_space_changed changed = {0};
    int64_t value;

    if (space->home == instance.kernel) {
        value = apply_here(moving);
    } else {
        int length = msg_call_within(&policy, space->home, moving->change.operation, &moving->change,
                                     sizeof(moving->change), &changed, sizeof(changed), "move of pages", moving->start);

        value = length == (int)sizeof(changed) ? (int64_t)changed.value : length < 0 ? length : -EPROTO;
    }
    if (value < 0)
        moving->error = (int)value;
    else if (moving->change.operation != MSG_SPACE_STILL)
        moving->others |= space_still_kernels(value, space->home) & ~(1ull << instance.kernel);
}

static int everywhere(struct moving *moving, enum msg_type operation, uint64_t chosen, uint64_t frame)
{
    struct space *space = moving->space;
    int64_t value;

    moving->change = (struct msg_space_change){.space = space->id,
                                               .start = moving->start,
                                               .length = moving->count * PAGE_SIZE,
                                               .operation = operation,
                                               .still = {chosen, frame}};
    moving->error = 0;
    ask_home(moving);
    if (moving->error == 0 || operation != MSG_SPACE_STILL)
        msg_multicast(moving->others, operation, &moving->change, sizeof(moving->change), note_answer, moving,
                      "move of pages", moving->start);
    if (space->home != instance.kernel) {
        value = apply_here(moving);
        if (value < 0 && moving->error == 0)
            moving->error = (int)value;
    }
    return moving->error;
}

/* --- from here on no kernel maps the pages writable --- */

static void drop_old(struct moving *moving, uint64_t frame)
{
    if (window_owns(frame, PAGE_SIZE))
        frame_runs_drop(&moving->own, frame);
    else if (release_add(&moving->old, frame) != 0)
        release_one(frame);
}

/* The pages of SET have their copies, from FRAME on: lets all kernels map these, and then drops the old frames. */
static void replace(struct moving *moving, uint64_t set, uint64_t frame)
{
    int error = everywhere(moving, MSG_SPACE_REPLACE, set, frame);

    if (error != 0) { /* only a faulty kernel refuses; as it may map either frame, none is freed */
        log_line("mm: a kernel refuses to map pages from %lx on, which have moved (error %d)",
                 (unsigned long)moving->start, error);
        report_set(moving, set, error);
        return;
    }
    spin_lock(&moving->space->lock);
    moving->space->stats.pages_moved += kernel_set_count(set);
    spin_unlock(&moving->space->lock);
    report_set(moving, set, (int)policy_node_of(frame));
    for (; set != 0; set &= set - 1)
        drop_old(moving, moving->words[__builtin_ctzll(set)] & PAGING_FRAME);
}

/* Moves the pages of SET to NODES, as many at once as there are frames in a row. */
static void move_set(struct moving *moving, uint64_t set, uint64_t nodes)
{
    while (set != 0) {
        uint32_t count = 0;
        uint64_t frame = policy_frames_on(nodes, kernel_set_count(set), &count), part = 0;

        if (frame == 0) {
            report_set(moving, set, -ENOMEM);
            return;
        }
        for (uint32_t i = 0; i < count; i++) {
            frame_copy_across(frame + i * PAGE_SIZE, moving->words[__builtin_ctzll(set)] & PAGING_FRAME);
            part |= set & -set;
            set &= set - 1;
            slice_check();
        }
        replace(moving, part, frame);
    }
}

static void move_chosen(struct moving *moving, uint64_t chosen)
{
    int error = everywhere(moving, MSG_SPACE_STILL, chosen, 0);

    for (uint64_t rest = chosen; rest != 0;) {
        uint64_t nodes = moving->nodes[__builtin_ctzll(rest)], set = 0;

        for (uint64_t i = rest; i != 0; i &= i - 1)
            set |= moving->nodes[__builtin_ctzll(i)] == nodes ? i & -i : 0;
        rest &= ~set;
        if (error == 0)
            move_set(moving, set, nodes);
        else
            report_set(moving, set, -ENOMEM);
    }
    everywhere(moving, MSG_SPACE_WRITABLE, chosen, 0);
}

/* --- which pages move --- */

static int refused(const struct moving *moving, uint64_t word)
{
    if ((word & MOVE_SHARED) != 0)
        return -EBUSY; /* futexes in shared memory are named by its frames, and a file's frame is the file's */
    if ((word & (MOVE_COW | MOVE_BACKED)) == MOVE_COW && !moving->moves->all && !frame_is_sole(word & PAGING_FRAME))
        return -EACCES;
    return 0;
}

/* The nodes to which page INDEX has to go; 0: it does not move, and that is reported. */
static uint64_t choose(const struct moving *moving, uint32_t index)
{
    uint64_t word = moving->words[index], nodes;
    uint32_t node = policy_node_of(word & PAGING_FRAME);
    int error;

    if ((word & PAGING_FRAME) == 0) {
        report(moving, index, word != 0 ? -ENOENT : -EFAULT);
        return 0;
    }
    nodes = moving->moves->wanted(moving->moves->context, moving->start + index * PAGE_SIZE, node);
    if (nodes == 0 || (nodes >> node & 1) != 0) {
        report(moving, index, (int)node);
        return 0;
    }
    error = refused(moving, word);
    if (error != 0)
        report(moving, index, error);
    return error != 0 ? 0 : nodes;
}

/* Locks COUNT pages from START on, and finds what is there. 0 or a negative errno: nothing is locked. */
static int begin(struct moving *moving, uint64_t start, uint32_t count)
{
    struct space_range range = {start, start + count * PAGE_SIZE};
    struct space *space = moving->space;
    int error;

    moving->start = start;
    moving->count = count;
    moving->old = (struct releasing){0};
    moving->own.count = 0;
    error = space_acquire(space, range, &moving->lock);
    if (error != 0)
        return error;
    space_gets_await(space, range); /* questions that begin later bring at most SPACE_MOVES */
    moving->others = space_lock_others(space, &moving->lock) & ~(1ull << space->home);
    error = move_find(space, start, count, moving->words);
    if (error != 0)
        space_release(space, &moving->lock);
    return error;
}

static void end(struct moving *moving)
{
    space_release(moving->space, &moving->lock);
    frame_runs_release(&moving->own);
    release_send(&moving->old);
}

static void move_window(struct moving *moving, uint64_t start, uint32_t count)
{
    uint64_t chosen = 0;
    int error = begin(moving, start, count);

    if (error != 0) {
        report_all(moving, -ENOMEM);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        moving->nodes[i] = choose(moving, i);
        chosen |= moving->nodes[i] != 0 ? 1ull << i : 0;
    }
    if (chosen != 0)
        move_chosen(moving, chosen);
    end(moving);
}

/* --- 2 MiB --- */

/* True if the pages have a block of frames of their own, and are wanted on the same *NODES, where they are not. */
static bool is_block(const struct moving *moving, uint64_t *nodes)
{
    uint64_t first = moving->words[0];
    uint32_t node = policy_node_of(first);

    if (first == 0 || (first & (LEAF_SIZE - 1)) != 0)
        return false;
    *nodes = moving->moves->wanted(moving->moves->context, moving->start, node);
    for (uint32_t i = 1; i < LEAF_ENTRIES; i++) {
        if (moving->words[i] != first + i * PAGE_SIZE ||
            moving->moves->wanted(moving->moves->context, moving->start + i * PAGE_SIZE, node) != *nodes)
            return false;
    }
    return *nodes != 0 && (*nodes >> node & 1) == 0;
}

static void move_block(struct moving *moving, uint64_t block)
{
    uint64_t old = moving->words[0];
    int error = everywhere(moving, MSG_SPACE_STILL, 0, 0);

    for (uint32_t i = 0; i < LEAF_ENTRIES && error == 0; i++) {
        frame_copy_across(block + i * PAGE_SIZE, old + i * PAGE_SIZE);
        slice_check();
    }
    if (error != 0) {
        for (uint32_t i = 0; i < LEAF_ENTRIES; i++)
            drop_old(moving, block + i * PAGE_SIZE);
        report_all(moving, -ENOMEM);
    } else if ((error = everywhere(moving, MSG_SPACE_REPLACE, 0, block)) != 0) {
        log_line("mm: a kernel refuses to map the 2 MiB at %lx, which have moved (error %d)",
                 (unsigned long)moving->start, error);
        report_all(moving, error);
    } else {
        spin_lock(&moving->space->lock);
        moving->space->stats.pages_moved += LEAF_ENTRIES;
        spin_unlock(&moving->space->lock);
        for (uint32_t i = 0; i < LEAF_ENTRIES; i++)
            drop_old(moving, old + i * PAGE_SIZE);
        report_all(moving, (int)policy_node_of(block));
    }
    everywhere(moving, MSG_SPACE_WRITABLE, 0, 0);
}

/* False: the 2 MiB from START on do not move as a whole; nothing is reported. */
static bool move_large(struct moving *moving, uint64_t start)
{
    uint64_t nodes = 0, block = 0;
    uint32_t count = 0;

    if (begin(moving, start, LEAF_ENTRIES) != 0)
        return false;
    if (is_block(moving, &nodes))
        block = policy_frames_on(nodes, LEAF_ENTRIES, &count);
    if (count == LEAF_ENTRIES)
        move_block(moving, block);
    else
        for (uint32_t i = 0; i < count; i++)
            drop_old(moving, block + i * PAGE_SIZE);
    end(moving);
    return count == LEAF_ENTRIES;
}

/* Whether the 2 MiB from START on may have a block of frames, as far as this kernel knows. */
static bool may_be_block(struct space *space, uint64_t start)
{
    const uint64_t *entry;
    bool result;

    spin_lock(&space->lock);
    entry = paging_look(&space->tables, start);
    if (entry == NULL || *entry == 0)
        result = space->home != instance.kernel;
    else
        result = (*entry & PAGING_FRAME & (LEAF_SIZE - 1)) == 0;
    spin_unlock(&space->lock);
    return result;
}

void space_move(struct space *space, uint64_t start, uint64_t end, const struct space_moves *moves)
{
    struct moving *moving = heap_alloc_unset(sizeof(*moving));

    if (moving == NULL) {
        for (uint64_t page = start; page < end; page += PAGE_SIZE)
            moves->done(moves->context, page, -ENOMEM);
        return;
    }
    moving->space = space;
    moving->moves = moves;
    while (start < end) {
        uint64_t stop = (start & ~(SPACE_CHOSEN_MAX * PAGE_SIZE - 1)) + SPACE_CHOSEN_MAX * PAGE_SIZE;

        if ((start & (LEAF_SIZE - 1)) == 0 && end - start >= LEAF_SIZE && may_be_block(space, start) &&
            move_large(moving, start)) {
            start += LEAF_SIZE;
            continue;
        }
        stop = stop < end ? stop : end;
        move_window(moving, start, (uint32_t)((stop - start) / PAGE_SIZE));
        start = stop;
    }
    heap_free(moving, sizeof(*moving));
}

uint64_t space_move_next(struct space *space, uint64_t start, uint64_t end)
{
    uint64_t next = start, leased;

    if (space->home != instance.kernel || !space->retrieval->home_knows)
        return start;
    spin_lock(&space->lock);
    if (paging_next_leaf_look(&space->tables, &next, end) == NULL || next > end)
        next = end;
    leased = lease_lowest_locked(space, start, end); /* there the home does not know each page */
    spin_unlock(&space->lock);
    next = leased < next ? leased : next;
    return next > start ? next : start; /* a lease may begin before */
}

void space_move_init(void)
{
    move_find_init();
}
