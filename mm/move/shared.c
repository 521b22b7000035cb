/* Pages of shared memory that are mapped at several places, of several spaces or of one, and pages of files: they move
 * at all places at once, or stay. See internal.h, and mm/move/move.md for why that is right.
 *
 * Which places there are is a guess, and the references to a frame prove it: with the locks of as many places as there
 * are references, each of which has the frame, nobody else can have it, or get it. A file has a reference of its own,
 * and gives its pages to any space that asks; so its kernel keeps who asks waiting, from before the references are
 * counted until the frame is replaced. */
#include "kernel/abi/errno.h"
#include "mm/area/backing.h"
#include "mm/change/again.h"
#include "mm/change/change.h"
#include "mm/frame/heap.h"
#include "mm/move/internal.h"
#include "mm/move/wire.h"

#define SHARERS_MAX 63u /* places of a page, besides the own one */

static const struct space_sharing *reach; /* [i] NULL: other spaces cannot be found */

/* Pages that several places share. */
struct sharing {
    struct moving own; /* in the space of the caller, at the lowest of its places */
    uint64_t asked;    /* the place of the caller */
    uint64_t having[SPACE_CHOSEN_MAX];
    uint64_t name; /* of the first page; a file's without flags */
    bool alone;    /* no other place has the pages */
    uint32_t count;
    struct space_sharer sharer[SHARERS_MAX + 1]; /* the other places, by the id of the space; and first the own one */
};

void space_move_share_by(const struct space_sharing *how)
{
    reach = how;
}

/* --- for a mover elsewhere --- */

int space_move_join(struct space *space, uint64_t start, uint32_t count, struct moving **moving, uint64_t *words)
{
    int error;

    if (start >= USER_END || count == 0 || count > SPACE_CHOSEN_MAX || count > LEAF_ENTRIES - paging_index(start))
        return -EPROTO;
    *moving = heap_alloc_unset(sizeof(**moving));
    if (*moving == NULL)
        return -ENOMEM;
    (*moving)->space = space;
    (*moving)->moves = NULL;
    (*moving)->sharing = NULL;
    error = move_begin(*moving, start, count, true);
    if (error != 0) {
        heap_free(*moving, sizeof(**moving));
        return error;
    }
    for (uint32_t i = 0; i < count; i++)
        words[i] = (*moving)->words[i];
    return 0;
}

int space_move_round(struct moving *moving, enum msg_type operation, uint64_t chosen, uint64_t frame)
{
    return move_round(moving, operation, chosen, frame);
}

void space_move_leave(struct moving *moving)
{
    move_end(moving);
    heap_free(moving, sizeof(*moving));
}

/* --- the mover --- */

int move_sharers_round(const struct sharing *sharing, uint64_t having, enum msg_type operation, uint64_t chosen,
                       uint64_t frame)
{
    int error = 0;

    having &= ~MOVE_HAVING_OWN;
    for (; having != 0 && (error == 0 || operation != MSG_SPACE_STILL); having &= having - 1) {
        int one = reach->round(&sharing->sharer[__builtin_ctzll(having)], operation, chosen, frame);

        error = error != 0 ? error : one;
    }
    return error;
}

/* The name of the page at PAGE, which is a FILE's or anonymous; BACKING_NONE: it is not so any more. Waits for the
 * home. */
static uint64_t name_of(struct space *space, uint64_t page, bool file)
{
    int64_t name = space_look(space, page, file ? SPACE_LOOK_BACKING : SPACE_LOOK_ANONYMOUS);

    if (name <= 0)
        return BACKING_NONE;
    return file ? backing_whole((uint64_t)name) + backing_page((uint64_t)name) : (uint64_t)name | BACKING_ANONYMOUS;
}

/* Makes the lowest place of the caller's space at which the area is not private the own one, where the mover waits for
 * the lock: so no two movers hold what the other one wants. */
static void choose_own(struct sharing *sharing)
{
    struct moving *own = &sharing->own;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < sharing->count; i++) {
        if (sharing->sharer[i].space != own->space->id || sharing->sharer[i].start != own->start)
            sharing->sharer[kept++] = sharing->sharer[i];
    }
    kept = kept < SHARERS_MAX ? kept : SHARERS_MAX;
    sharing->count = kept;
    for (uint32_t i = 0; i < kept; i++) {
        struct space_sharer *place = &sharing->sharer[i];
        uint64_t start = place->start;

        if (place->space != own->space->id || place->copies || start > own->start)
            continue;
        place->start = own->start;
        own->start = start;
    }
}

/* Finds who may have the first page. All movers lock spaces in the order of their ids, so that no two wait for each
 * other. */
static void gather(struct sharing *sharing)
{
    struct space_sharer *sharer = sharing->sharer;

    sharing->count = reach != NULL && sharing->name != BACKING_NONE && !sharing->alone
                         ? reach->find(sharing->name, sharer, SHARERS_MAX + 1)
                         : 0;
    choose_own(sharing);
    for (uint32_t i = 0; i < sharing->count; i++) {
        struct space_sharer one = sharer[i];
        uint32_t at = i;

        for (; at > 0 && sharer[at - 1].space > one.space; at--)
            sharer[at] = sharer[at - 1];
        sharer[at] = one;
    }
}

/* COUNT pages, or as many as there are from START to the end of its table, and between START and OTHER. */
static uint32_t clipped(uint32_t count, uint64_t start, uint64_t other)
{
    uint64_t room = LEAF_ENTRIES - paging_index(start),
             apart = (start < other ? other - start : start - other) / PAGE_SIZE;

    room = apart != 0 && apart < room ? apart : room;
    return count < room ? count : (uint32_t)room;
}

/* The most pages, up to COUNT, that are in one leaf table at each place. The places of a space do not overlap, and with
 * ranges=off, where the lock of more than a page is that of the space, it is one page if a space has two places. */
static uint32_t common(const struct sharing *sharing, uint32_t count)
{
    const struct moving *own = &sharing->own;
    bool twice = false;

    count = clipped(count, own->start, own->start);
    for (uint32_t i = 0; i < sharing->count; i++) {
        const struct space_sharer *one = &sharing->sharer[i];

        twice |= one->space == own->space->id || (i > 0 && sharing->sharer[i - 1].space == one->space);
        count = clipped(count, one->start, one->space == own->space->id ? own->start : one->start);
        for (uint32_t k = 0; k < i; k++)
            count = clipped(count, one->start,
                            sharing->sharer[k].space == one->space ? sharing->sharer[k].start : one->start);
    }
    return twice && !space_ranges ? 1 : count;
}

static void unlock_all(struct sharing *sharing, bool own)
{
    for (uint32_t i = 0; i < sharing->count; i++) {
        if (sharing->sharer[i].begun)
            reach->end(&sharing->sharer[i]);
    }
    if (own)
        move_end(&sharing->own);
}

/* Locks COUNT pages at all places: the mover waits for its own one before it asks for others of its space, which nobody
 * waits for. A place that does not have them any more is left out. -EAGAIN: another task holds a lock that the home
 * does not wait for, and nothing is locked. */
static int lock_all(struct sharing *sharing, uint32_t count)
{
    bool own = false;
    int error = 0;

    for (uint32_t i = 0; i <= sharing->count && error == 0; i++) {
        struct space_sharer *sharer = i < sharing->count ? &sharing->sharer[i] : NULL;

        if (!own && (sharer == NULL || sharer->space >= sharing->own.space->id)) {
            error = move_begin(&sharing->own, sharing->own.start, count, false);
            sharing->own.asked = sharing->asked;
            own = error == 0;
        }
        if (sharer == NULL || error != 0)
            continue;
        error = reach->begin(sharer, sharing->name, count, sharer->words);
        sharer->begun = error == 0;
        error = error == -ESRCH ? 0 : error;
    }
    if (error != 0)
        unlock_all(sharing, own);
    return error;
}

/* As lock_all, which it repeats while other tasks hold a lock at a sharer's home. -EAGAIN: they have not released it.
 */
static int lock_all_at_last(struct sharing *sharing, uint32_t count)
{
    uint32_t tries = 0;
    int error;

    do {
        error = lock_all(sharing, count);
    } while (error == -EAGAIN && space_try_again(&tries));
    return error;
}

/* Which page each of SET is, the caller's place says, and not the own one, where another area may begin behind the
 * first page. Returns those that are another page at the own place, which no round may touch. Nobody may have touched
 * shared memory at the own place yet: then no round finds anything to change there. */
static uint64_t complete(struct sharing *sharing, uint64_t set)
{
    struct moving *own = &sharing->own;
    const struct space_sharer *asked = NULL;
    uint64_t others = 0;

    for (uint32_t i = 0; i < sharing->count && own->start != sharing->asked; i++) {
        const struct space_sharer *one = &sharing->sharer[i];

        if (one->space == own->space->id && one->start == sharing->asked && one->begun)
            asked = one;
    }
    for (; set != 0; set &= set - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(set);
        uint64_t frame = own->words[i] & PAGING_FRAME, word = asked != NULL ? asked->words[i] : 0;

        sharing->having[i] = frame != 0 ? MOVE_HAVING_OWN : 0;
        if (own->start == sharing->asked)
            continue;
        if (frame != 0 ? frame != (word & PAGING_FRAME) : (own->words[i] & MOVE_SHARED) == 0 || asked == NULL)
            others |= 1ull << i;
        else
            own->words[i] = word;
    }
    return others;
}

/* The other places that have the frame of page INDEX. */
static uint64_t who_has(const struct sharing *sharing, uint32_t index)
{
    uint64_t frame = sharing->own.words[index] & PAGING_FRAME, having = 0;

    for (uint32_t i = 0; i < sharing->count; i++) {
        if (sharing->sharer[i].begun && (sharing->sharer[i].words[index] & PAGING_FRAME) == frame)
            having |= 1ull << i;
    }
    return having;
}

/* Everything is locked: has the file's kernel keep the pages of CHOSEN, whose frames are in FRAMES. Returns those that
 * it keeps. *NEXT, too: those that are not at their place in the file, as another area begins there. The rest is
 * reported.
 */
static uint64_t keep_in_file(struct sharing *sharing, uint64_t chosen, uint32_t count, const uint64_t *frames,
                             uint64_t *next)
{
    struct moving *own = &sharing->own;
    int error = file_move_begin(sharing->name, count, frames, &own->file);
    uint64_t others = chosen & ~own->file.pages;

    if (error != 0) {
        move_report_set(own, chosen, move_result_of(own->start, error));
        return 0;
    }
    *next |= others & ~1ull; /* each of these is the first of its part at last */
    move_report_set(own, others & 1, -EBUSY);
    return chosen & own->file.pages;
}

/* Everything is locked: the pages of SET that move, with the places that have each. *NEXT: those that may move in
 * another part, as other places have them than the first. What stays is reported. */
static uint64_t decide(struct sharing *sharing, uint64_t set, uint32_t count, uint64_t *next)
{
    struct moving *own = &sharing->own;
    uint64_t uses[SPACE_CHOSEN_MAX] = {0}, chosen = 0, others = complete(sharing, set);
    bool file = own->file.backing != BACKING_NONE;
    int error = 0;

    *next = others & ~1ull;
    move_report_set(own, others & 1, -EBUSY);
    for (set &= ~others; set != 0; set &= set - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(set);

        own->nodes[i] = move_choose(own, i);
        if (own->nodes[i] == 0)
            continue;
        chosen |= 1ull << i;
        uses[i] = own->words[i] & PAGING_FRAME;
    }
    if (file && chosen != 0)
        chosen = keep_in_file(sharing, chosen, count, uses, next);
    for (uint32_t i = 0; i < count; i++)
        uses[i] = (chosen >> i & 1) != 0 ? uses[i] : 0;
    error = chosen != 0 ? move_uses(uses, count) : 0;
    if (error != 0) {
        move_report_set(own, chosen, move_result_of(own->start, error));
        return 0;
    }
    for (uint64_t rest = chosen; rest != 0; rest &= rest - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(rest);

        sharing->having[i] |= who_has(sharing, i);
        if ((own->words[i] & MOVE_SHARED) != 0 && move_is_of_file(own->words[i]) == file &&
            (uses[i] & ~MOVE_OF_FILE) == kernel_set_count(sharing->having[i]) + (file ? 1 : 0))
            continue;
        chosen &= ~(1ull << i);
        *next |= i != 0 ? 1ull << i : 0;
        if (i == 0) /* a place that was not found has it, too */
            move_report_set(own, 1, -EBUSY);
    }
    return chosen;
}

/* Moves the pages of CHOSEN, those together that the same places have. */
static void move_together(struct sharing *sharing, uint64_t chosen)
{
    struct moving *own = &sharing->own;

    own->sharing = sharing;
    while (chosen != 0) {
        uint64_t same = 0;

        own->having = sharing->having[__builtin_ctzll(chosen)];
        for (uint64_t rest = chosen; rest != 0; rest &= rest - 1)
            same |= sharing->having[__builtin_ctzll(rest)] == own->having ? rest & -rest : 0;
        move_chosen(own, same);
        chosen &= ~same;
    }
}

/* Those pages of SET that are as page FIRST is: a file's, or not. */
static uint64_t alike(const struct moving *run, uint64_t set, uint32_t first)
{
    bool file = move_is_of_file(run->words[first]);
    uint64_t same = 0;

    for (; set != 0; set &= set - 1)
        same |= move_is_of_file(run->words[__builtin_ctzll(set)]) == file ? set & -set : 0;
    return same;
}

/* Whether the own place still has the first page: it may have been unmapped since it was found. */
static bool own_has_name(const struct sharing *sharing, bool file)
{
    const struct moving *own = &sharing->own;

    return own->start == sharing->asked || name_of(own->space, own->start, file) == sharing->name;
}

/* Moves those pages of SET, the first of which is page FIRST of RUN, that are like it and near it in all spaces.
 * Returns the others. */
static uint64_t move_part(struct sharing *sharing, const struct moving *run, uint64_t set, uint32_t first)
{
    struct moving *own = &sharing->own;
    bool file = move_is_of_file(run->words[first]);
    uint64_t part, next = 0;
    uint32_t count;
    int error;

    own->space = run->space;
    own->moves = run->moves;
    own->sharing = NULL;
    own->start = own->asked = sharing->asked = run->start + first * PAGE_SIZE;
    sharing->name = name_of(run->space, own->start, file);
    own->file = (struct file_moving){.backing = file ? sharing->name : BACKING_NONE};
    gather(sharing);
    count = common(sharing, run->count - first);
    part = alike(run, set, first) >> first & (count < 64 ? (1ull << count) - 1 : UINT64_MAX);
    if (file && sharing->name == BACKING_NONE) {
        move_report_set(run, part << first, -EBUSY); /* it is mapped no more */
    } else if ((error = lock_all_at_last(sharing, count)) != 0) {
        move_report_set(run, part << first, move_result_of(sharing->asked, error));
    } else if (!own_has_name(sharing, file)) {
        move_report_set(run, part << first, -EBUSY);
        unlock_all(sharing, true);
    } else {
        move_together(sharing, decide(sharing, part, count, &next));
        if (own->file.pages != 0) /* those that stay */
            file_move_end(&own->file, own->file.pages, 0);
        unlock_all(sharing, true);
    }
    return (set & ~(part << first)) | next << first;
}

void move_shared(const struct moving *run, uint64_t set, bool alone)
{
    struct sharing *sharing = heap_alloc_unset(sizeof(*sharing));

    if (sharing == NULL)
        move_report_set(run, set, -ENOMEM);
    else
        sharing->alone = alone;
    while (sharing != NULL && set != 0)
        set = move_part(sharing, run, set, (uint32_t)__builtin_ctzll(set));
    heap_free(sharing, sizeof(*sharing));
}
