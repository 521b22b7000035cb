/* Moves pages: the mover's side. mm/fault/still.c is that of each kernel that maps them. See the header and
 * mm/move/move.md. */
#include "mm/move/move.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/window.h"
#include "kernel/lib/log.h"
#include "mm/frame/abroad.h"
#include "mm/frame/content.h"
#include "mm/frame/heap.h"
#include "mm/frame/object_page.h"
#include "mm/frame/reference.h"
#include "mm/lease/lease.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/move/internal.h"
#include "mm/move/wire.h"
#include "mm/space/question.h"
#include "msg/slice.h"

static void report(const struct moving *moving, uint32_t index, int result)
{
    moving->moves->done(moving->moves->context, moving->asked + index * PAGE_SIZE, result);
}

void move_report_set(const struct moving *moving, uint64_t set, int result)
{
    for (; set != 0; set &= set - 1)
        report(moving, (uint32_t)__builtin_ctzll(set), result);
}

static void report_all(const struct moving *moving, int result)
{
    for (uint32_t i = 0; i < moving->count; i++)
        report(moving, i, result);
}

/* --- from here on no kernel maps the pages writable --- */

/* Frames of this kernel whose references the mover has: they count as abroad (mm/fault/still.c). */
static void keep_new(uint64_t frame, uint32_t count)
{
    for (uint32_t i = 0; i < count && window_owns(frame, PAGE_SIZE); i++)
        abroad_add(frame + i * PAGE_SIZE);
}

static void drop(struct moving *moving, uint64_t frame)
{
    if (window_owns(frame, PAGE_SIZE)) {
        if (abroad_take(frame)) /* else a faulty kernel has released it */
            frame_runs_drop(&moving->own, frame);
    } else if (release_add(&moving->old, frame) != 0) {
        release_one(frame);
    }
}

/* Drops TIMES references to each of COUNT frames from FRAME on. */
static void drop_run(struct moving *moving, uint64_t frame, uint32_t count, uint32_t times)
{
    for (uint32_t i = 0; i < count * times; i++)
        drop(moving, frame + i / times * PAGE_SIZE);
}

/* The places at which the chosen pages are. */
static uint32_t places_of(const struct moving *moving)
{
    return moving->sharing != NULL ? kernel_set_count(moving->having) : 1;
}

/* The references that a new frame of theirs needs. */
static uint32_t references_of(const struct moving *moving)
{
    return places_of(moving) + (move_in_file(moving) ? 1 : 0);
}

/* The new frames of the pages of SET behind FROM that are shared, from FRAME on, get the names of the old ones, if they
 * are this kernel's, and it knows the area. */
static void name_frames(const struct moving *moving, uint32_t from, uint64_t set, uint64_t frame)
{
    spin_lock(&moving->space->lock);
    for (; set != 0 && window_owns(frame, PAGE_SIZE); set &= set - 1, frame += PAGE_SIZE) {
        uint32_t i = from + (uint32_t)__builtin_ctzll(set);
        uint64_t page = moving->asked + i * PAGE_SIZE; /* which is this page for certain, and locked, too */
        const struct area *area;

        if ((moving->words[i] & MOVE_SHARED) == 0)
            continue;
        area = area_find(&moving->space->areas, page);
        if (area != NULL && backing_is_anonymous(area->backing))
            frame_set_object_page(frame, area_backing_at(area, page));
    }
    spin_unlock(&moving->space->lock);
}

/* Lets all kernels map the COUNT frames from FRAME on in place of those of the pages of SET, or of all 512. False: they
 * do not move. A kernel that refuses is faulty; all go back to the old frames then. What a kernel may map that does not
 * go back, or has died, is not freed here. */
static bool let_replace(struct moving *moving, uint64_t set, uint64_t frame, uint32_t count)
{
    int error = move_replace(moving, set, frame), back = 0;

    if (error == 0)
        return true;
    if (error != -EHOSTDOWN) {
        back = move_back(moving, set);
        if (back == 0)
            drop_run(moving, frame, count, references_of(moving));
    }
    log_line("mm: a kernel does not map new frames of pages from %lx on (error %d)%s", (unsigned long)moving->start,
             error, back == 0 ? "" : ", and one does not go back");
    return false;
}

/* The pages of SET have their copies, from FRAME on: lets all kernels map these, and then drops the old frames. */
static void replace(struct moving *moving, uint64_t set, uint64_t frame)
{
    name_frames(moving, 0, set, frame);
    if (!let_replace(moving, set, frame, kernel_set_count(set))) {
        move_report_set(moving, set, -EBUSY);
        return;
    }
    spin_lock(&moving->space->lock);
    moving->space->stats.pages_moved += kernel_set_count(set);
    spin_unlock(&moving->space->lock);
    move_report_set(moving, set, (int)policy_node_of(frame));
    for (uint32_t k = 0; k < places_of(moving); k++) { /* each has a reference */
        for (uint64_t rest = set; rest != 0; rest &= rest - 1)
            drop(moving, moving->words[__builtin_ctzll(rest)] & PAGING_FRAME);
    }
}

/* COUNT new frames from FRAME on, which have one reference, get one for each space, and one for the file. A negative
 * errno: they are dropped. */
static int share_more(struct moving *moving, uint64_t frame, uint32_t count)
{
    uint64_t frames[SPACE_CHOSEN_MAX];
    bool own = window_owns(frame, PAGE_SIZE);
    uint32_t has = 1, wanted = references_of(moving);
    int error = 0;

    for (uint32_t i = 0; i < count; i++)
        frames[i] = frame + i * PAGE_SIZE;
    for (; has < wanted && error == 0; has += error == 0 ? 1 : 0) {
        for (uint32_t i = 0; i < count && own; i++)
            frame_share(frames[i]);
        keep_new(frame, count);
        error = own ? 0 : share_frames(frame_owner(frame), frames, count);
    }
    if (error != 0)
        drop_run(moving, frame, count, has);
    return error;
}

/* Moves the pages of SET to NODES, as many at once as there are frames in a row. */
static void move_set(struct moving *moving, uint64_t set, uint64_t nodes)
{
    while (set != 0) {
        uint32_t count = 0;
        uint64_t frame = policy_frames_on(nodes, kernel_set_count(set), &count), part = 0;
        int error;

        if (frame == 0) {
            move_report_set(moving, set, -ENOMEM);
            return;
        }
        keep_new(frame, count);
        error = share_more(moving, frame, count);
        if (error != 0) {
            move_report_set(moving, set, move_result_of(moving->start, error));
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

void move_chosen(struct moving *moving, uint64_t chosen)
{
    int error = move_round(moving, MSG_SPACE_STILL, chosen, 0);

    if (error != 0)
        move_report_set(moving, chosen, move_result_of(moving->start, error));
    for (uint64_t rest = error == 0 ? chosen : 0; rest != 0;) {
        uint64_t nodes = moving->nodes[__builtin_ctzll(rest)], set = 0;

        for (uint64_t i = rest; i != 0; i &= i - 1)
            set |= moving->nodes[__builtin_ctzll(i)] == nodes ? i & -i : 0;
        rest &= ~set;
        move_set(moving, set, nodes);
    }
    move_round(moving, MSG_SPACE_WRITABLE, chosen, 0);
}

/* --- which pages move --- */

uint64_t move_choose(const struct moving *moving, uint32_t index)
{
    uint64_t word = moving->words[index], nodes;
    uint32_t node = policy_node_of(word & PAGING_FRAME);

    if ((word & PAGING_FRAME) == 0) {
        report(moving, index, word != 0 ? -ENOENT : -EFAULT);
        return 0;
    }
    nodes = moving->moves->wanted(moving->moves->context, moving->asked + index * PAGE_SIZE, node);
    if (nodes == 0 || (nodes >> node & 1) != 0) {
        report(moving, index, (int)node);
        return 0;
    }
    return nodes;
}

/* How a page moves. */
enum movement {
    MOVES_HERE,    /* in this space, which is the only one that has it or gets a copy of its own */
    MOVES_IN_FILE, /* it is a file's, and no other space has it */
    MOVES_SHARED,  /* in all spaces that have it */
    MOVES_NOT,
};

/* The page with WORD, whose frame has USES (move_uses). */
static enum movement movement_of(const struct moving *moving, uint64_t word, uint64_t uses)
{
    bool all = moving->moves->all;

    if (move_is_of_file(word))
        return (uses & ~MOVE_OF_FILE) <= 2 ? MOVES_IN_FILE : all ? MOVES_SHARED : MOVES_NOT;
    if (uses == 1 || ((word & MOVE_SHARED) == 0 && all))
        return MOVES_HERE;
    /* the file's own frame: as if it were written to */
    if ((word & (MOVE_SHARED | MOVE_FILE)) == MOVE_FILE && (uses & MOVE_OF_FILE) != 0)
        return MOVES_HERE;
    return (word & MOVE_SHARED) != 0 && all ? MOVES_SHARED : MOVES_NOT;
}

/* The pages of CHOSEN that move in this space alone. *IN_FILE, *SHARED: those that move so. What does not move is
 * reported. */
static uint64_t decide(const struct moving *moving, uint64_t chosen, uint64_t *in_file, uint64_t *shared)
{
    uint64_t uses[SPACE_CHOSEN_MAX] = {0}, asked = 0;
    int error;

    *in_file = *shared = 0;
    for (uint64_t rest = chosen; rest != 0; rest &= rest - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(rest);

        if ((moving->words[i] & (MOVE_SHARED | MOVE_COW)) == 0)
            continue;
        uses[i] = moving->words[i] & PAGING_FRAME;
        asked |= 1ull << i;
    }
    error = asked != 0 ? move_uses(uses, moving->count) : 0;
    if (error != 0) {
        move_report_set(moving, asked, move_result_of(moving->start, error));
        return chosen & ~asked;
    }
    for (; asked != 0; asked &= asked - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(asked);
        enum movement movement = movement_of(moving, moving->words[i], uses[i]);

        if (movement == MOVES_HERE)
            continue;
        chosen &= ~(1ull << i);
        if (movement == MOVES_IN_FILE)
            *in_file |= 1ull << i;
        else if (movement == MOVES_SHARED)
            *shared |= 1ull << i;
        else
            report(moving, i, -EACCES);
    }
    return chosen;
}

int move_begin(struct moving *moving, uint64_t start, uint32_t count, bool tries)
{
    struct space_range range = {start, start + count * PAGE_SIZE};
    struct space *space = moving->space;
    int error;

    moving->start = moving->asked = start;
    moving->count = count;
    moving->old = (struct releasing){0};
    moving->own.count = 0;
    error = tries ? space_try_acquire(space, range, &moving->lock) : space_acquire(space, range, &moving->lock);
    if (error != 0)
        return error;
    space_gets_await(space, range); /* questions that begin later bring at most SPACE_MOVES */
    moving->others = space_lock_others(space, &moving->lock) & ~(1ull << space->home);
    error = move_find(space, start, count, moving->words);
    if (error != 0)
        space_release(space, &moving->lock);
    return error;
}

void move_end(struct moving *moving)
{
    space_release(moving->space, &moving->lock);
    frame_runs_release(&moving->own);
    release_send(&moving->old);
}

/* The pages, at most 64, that are marked. */
static uint64_t marks_of(const struct moving *moving)
{
    uint64_t marked = 0;

    for (uint32_t i = 0; i < moving->count; i++)
        marked |= (moving->words[i] & MOVE_MARKED) != 0 ? 1ull << i : 0;
    return marked;
}

static void move_window(struct moving *moving, uint64_t start, uint32_t count)
{
    uint64_t chosen = 0, in_file = 0, shared = 0, marked;
    int error = move_begin(moving, start, count, false);

    if (error != 0) {
        report_all(moving, move_result_of(start, error));
        return;
    }
    marked = moving->moves->marked ? marks_of(moving) : 0;
    for (uint32_t i = 0; i < count; i++) {
        if (moving->moves->marked && (marked >> i & 1) == 0)
            continue;
        moving->nodes[i] = move_choose(moving, i);
        chosen |= moving->nodes[i] != 0 ? 1ull << i : 0;
    }
    if (chosen != 0)
        chosen = decide(moving, chosen, &in_file, &shared);
    if (chosen != 0)
        move_chosen(moving, chosen);
    if ((marked & ~chosen) != 0)
        move_round(moving, MSG_SPACE_WRITABLE, marked & ~chosen, 0);
    move_end(moving);
    if (in_file != 0)
        move_shared(moving, in_file, true);
    if (shared != 0)
        move_shared(moving, shared, false);
}

/* --- 2 MiB --- */

/* True if no other space has one of the 2 MiB. */
static bool is_sole(const struct moving *moving)
{
    uint64_t *uses = heap_alloc_unset(sizeof(moving->words));
    bool sole = uses != NULL;

    for (uint32_t i = 0; i < LEAF_ENTRIES && sole; i++)
        uses[i] = moving->words[i] & PAGING_FRAME;
    sole = sole && move_uses(uses, LEAF_ENTRIES) == 0;
    for (uint32_t i = 0; i < LEAF_ENTRIES && sole; i++)
        sole = uses[i] == 1;
    heap_free(uses, sizeof(moving->words));
    return sole;
}

/* True if the pages have a block of frames of their own, and are wanted on the same *NODES. */
static bool is_block(const struct moving *moving, uint64_t *nodes)
{
    uint64_t marks = moving->moves->marked ? MOVE_MARKED : 0, ignored = MOVE_MARKED & ~marks;
    uint64_t first = moving->words[0] & ~ignored;
    uint32_t node = policy_node_of(first & PAGING_FRAME);

    if ((first & PAGING_FRAME) == 0 || (first & (LEAF_SIZE - 1) & ~MOVE_SHARED) != marks)
        return false;
    *nodes = moving->moves->wanted(moving->moves->context, moving->start, node);
    for (uint32_t i = 1; i < LEAF_ENTRIES; i++) {
        if ((moving->words[i] & ~ignored) != first + i * PAGE_SIZE ||
            moving->moves->wanted(moving->moves->context, moving->start + i * PAGE_SIZE, node) != *nodes)
            return false;
    }
    return *nodes != 0;
}

static void move_block(struct moving *moving, uint64_t block)
{
    uint64_t old = moving->words[0] & PAGING_FRAME;
    int error = move_round(moving, MSG_SPACE_STILL, 0, 0);

    for (uint32_t i = 0; i < LEAF_ENTRIES && error == 0; i++) {
        frame_copy_across(block + i * PAGE_SIZE, old + i * PAGE_SIZE);
        slice_check();
    }
    for (uint32_t i = 0; i < LEAF_ENTRIES && error == 0; i += 64)
        name_frames(moving, i, UINT64_MAX, block + i * PAGE_SIZE);
    if (error != 0) {
        drop_run(moving, block, LEAF_ENTRIES, 1);
        report_all(moving, move_result_of(moving->start, error));
    } else if (!let_replace(moving, 0, block, LEAF_ENTRIES)) {
        report_all(moving, -EBUSY);
    } else {
        spin_lock(&moving->space->lock);
        moving->space->stats.pages_moved += LEAF_ENTRIES;
        spin_unlock(&moving->space->lock);
        drop_run(moving, old, LEAF_ENTRIES, 1);
        report_all(moving, (int)policy_node_of(block));
    }
    move_round(moving, MSG_SPACE_WRITABLE, 0, 0);
}

/* The block is where it is wanted. */
static void leave_block(struct moving *moving, uint32_t node)
{
    if (moving->moves->marked)
        move_round(moving, MSG_SPACE_WRITABLE, 0, 0);
    report_all(moving, (int)node);
}

/* False: the 2 MiB from START on do not move, or stay, as a whole; nothing is reported. */
static bool move_large(struct moving *moving, uint64_t start)
{
    uint64_t nodes = 0, block = 0;
    uint32_t count = 0, node;
    bool is_one, stays;

    if (move_begin(moving, start, LEAF_ENTRIES, false) != 0)
        return false;
    node = policy_node_of(moving->words[0] & PAGING_FRAME);
    is_one = is_block(moving, &nodes);
    stays = is_one && (nodes >> node & 1) != 0;
    if (is_one && !stays && ((moving->words[0] & MOVE_SHARED) == 0 || is_sole(moving)))
        block = policy_frames_on(nodes, LEAF_ENTRIES, &count);
    keep_new(block, count);
    if (stays)
        leave_block(moving, node);
    else if (count == LEAF_ENTRIES)
        move_block(moving, block);
    else
        drop_run(moving, block, count, 1);
    move_end(moving);
    return stays || count == LEAF_ENTRIES;
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
    moving->sharing = NULL;
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

void space_move_page(struct space *space, uint64_t page, const struct space_moves *moves)
{
    struct moving *moving = heap_alloc_unset(sizeof(*moving));
    bool large;

    if (moving == NULL) {
        moves->done(moves->context, page, -ENOMEM);
        return;
    }
    moving->space = space;
    moving->moves = moves;
    moving->sharing = NULL;
    spin_lock(&space->lock);
    large = paging_large(&space->tables, page) != 0;
    spin_unlock(&space->lock);
    if (!large || !move_large(moving, page & ~(LEAF_SIZE - 1)))
        move_window(moving, page, 1);
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
    move_lazy_init();
}
