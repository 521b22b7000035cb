/* The reports of one kernel to an audit: its areas and entries of a space, and the frames that its page tables name. A
 * handler examines a bounded number of tables and answers; the auditor asks again for the rest. See mm/audit/audit.md.
 *
 * The option audit= makes a kernel report the first page or area wrongly, so that a test sees the audit find it. Only
 * the report is wrong then. */
#include "boot/options/control.h"
#include "boot/options/options.h"
#include "kernel/abi/errno.h"
#include "kernel/lib/list.h"
#include "kernel/lib/panic.h"
#include "mm/audit/audit.h"
#include "mm/audit/check.h"
#include "mm/audit/internal.h"
#include "mm/file/object.h"
#include "mm/frame/reference.h"
#include "mm/space/entry.h"
#include "mm/space/question.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/channel.h"
#include "msg/request/long_answer.h"

#define RUNS_MAX ((AUDIT_PART - sizeof(struct msg_audit_viewed)) / sizeof(struct audit_run))
#define AREAS_MAX ((AUDIT_PART - sizeof(struct msg_audit_viewed)) / sizeof(struct msg_space_area))
#define MARKS_MAX ((AUDIT_PART - sizeof(struct msg_audit_viewed)) / sizeof(kernel_set))
#define WORDS_MAX ((AUDIT_PART - sizeof(struct msg_audit_framed)) / sizeof(uint64_t))
#define TABLES_MAX 4u   /* page tables that one AUDIT_FRAMES examines */
#define TABLE_LOOKS 64u /* tables without frames of the asker that take as long as one that is examined */
#define LOOKS_MAX (TABLES_MAX * TABLE_LOOKS)

_Static_assert(WORDS_MAX >= LEAF_ENTRIES && RUNS_MAX >= LEAF_ENTRIES, "a table fits");
_Static_assert(WORDS_MAX >= FILE_FRAMES_AT_ONCE, "so do the frames of files");

/* --- deliberately wrong reports --- */

enum lie {
    LIE_NONE,
    LIE_FRAME,
    LIE_OWNED,
    LIE_RIGHTS,
    LIE_REMOTE,
    LIE_COW,
    LIE_PENDING,
    LIE_OUTSIDE,
    LIE_AREA,
    LIE_BACKING,
    LIE_BITS,
    LIE_COUNT,
    LIE_MARK,
    LIE_OWNER,
    LIE_OPEN,
    LIE_GRANT
};

static volatile enum lie lie; /* [a] */

static void lie_set(const char *value)
{
    lie = (enum lie)option_index("audit", value);
}

static void lie_of_run(struct audit_run *run)
{
    switch (lie) {
    case LIE_FRAME:
        run->entry += PAGE_SIZE;
        break;
    case LIE_OWNED:
        run->entry ^= PAGING_SOFT_OWNING;
        break;
    case LIE_RIGHTS:
        run->entry ^= PAGING_WRITE;
        break;
    case LIE_REMOTE:
        run->entry ^= PAGING_SOFT_REMOTE;
        break;
    case LIE_COW:
        run->prot |= AREA_SHARED;
        run->entry |= PAGING_SOFT_COW;
        break;
    case LIE_PENDING:
        run->entry |= PAGING_SOFT_PENDING_FREE;
        break;
    case LIE_OUTSIDE:
        run->prot = AUDIT_NO_AREA;
        break;
    default:
        break;
    }
}

static void lie_of_area(struct msg_space_area *area, uint64_t start)
{
    if (lie == LIE_AREA)
        area->start = start;
    else if (lie == LIE_BACKING)
        area->prot ^= AREA_SHARED;
    else if (lie == LIE_BITS)
        area->prot ^= AREA_EXEC;
}

const struct sharers *audit_owners_here(const struct space *space)
{
    static const struct sharers none;

    return lie == LIE_OWNER ? &none : &space->owners;
}

bool audit_lies_of_opens(void)
{
    return lie == LIE_OPEN;
}

bool audit_lies_of_grants(void)
{
    return lie == LIE_GRANT;
}

/* --- one space --- */

static uint32_t list_areas_locked(const struct space *space, const struct msg_audit_view *ask,
                                  struct msg_audit_viewed *out)
{
    struct msg_space_area *areas = (struct msg_space_area *)(out + 1);
    uint32_t count = 0;

    for (const struct area *area = area_next(&space->areas, ask->start); area != NULL && area->start < ask->end;
         area = area_after(&space->areas, area)) {
        if (count == AREAS_MAX) {
            out->next = area->start;
            break;
        }
        areas[count] = (struct msg_space_area){area->start > ask->start ? area->start : ask->start,
                                               area->end < ask->end ? area->end : ask->end, area->prot, 0};
        areas[count].backing = area_backing_at(area, areas[count].start);
        count++;
    }
    if (count > 0 && lie != LIE_NONE)
        lie_of_area(&areas[0], ask->start);
    return (uint32_t)(sizeof(*out) + count * sizeof(*areas));
}

struct listing {
    const struct space *space;
    const struct area *area; /* the last one found */
    struct audit_run *runs;
    uint32_t count;
};

static uint32_t prot_of(struct listing *listing, uint64_t page)
{
    if (listing->area == NULL || page < listing->area->start || page >= listing->area->end)
        listing->area = area_find(&listing->space->areas, page);
    return listing->area != NULL ? listing->area->prot : AUDIT_NO_AREA;
}

/* Adds a page to the last run or a new one. False: there is no room for another run. */
static bool add_page(struct listing *listing, uint64_t page, uint64_t entry)
{
    struct audit_run *last = listing->count > 0 ? &listing->runs[listing->count - 1] : NULL;
    uint32_t prot = prot_of(listing, page);

    if (last != NULL && page == last->page + last->count * PAGE_SIZE &&
        entry == last->entry + last->count * PAGE_SIZE && prot == last->prot &&
        (lie == LIE_NONE || listing->count > 1)) {
        last->count++;
        return true;
    }
    if (listing->count == RUNS_MAX)
        return false;
    listing->runs[listing->count++] = (struct audit_run){page, entry, 1, prot};
    return true;
}

static uint32_t list_pages_locked(struct space *space, const struct msg_audit_view *ask, struct msg_audit_viewed *out)
{
    struct listing listing = {.space = space, .runs = (struct audit_run *)(void *)(out + 1)};
    uint64_t beyond = ask->end;
    const uint64_t *leaf;

    for (uint64_t va = ask->start; (leaf = paging_next_leaf_look(&space->tables, &va, ask->end)) != NULL;
         va += LEAF_SIZE) {
        uint32_t first = va < ask->start ? paging_index(ask->start) : 0;
        uint32_t end = ask->end - va < LEAF_SIZE ? paging_index(ask->end) : LEAF_ENTRIES;

        for (uint32_t i = first; (i = paging_next_used(leaf, i, end)) < end; i++) {
            uint64_t page = va + i * PAGE_SIZE;

            if (!add_page(&listing, page,
                          space_entry_shown(leaf[i]) &
                              ~(PAGING_ACCESSED | PAGING_DIRTY | PAGING_SOFT_PREFETCHED | PAGING_SOFT_MARKED))) {
                out->next = page;
                return (uint32_t)(sizeof(*out) + listing.count * sizeof(listing.runs[0]));
            }
        }
    }
    out->beyond = paging_next_leaf_look(&space->tables, &beyond, USER_END) != NULL ? beyond : UINT64_MAX;
    if (listing.count > 0 && lie != LIE_NONE)
        lie_of_run(&listing.runs[0]);
    return (uint32_t)(sizeof(*out) + listing.count * sizeof(listing.runs[0]));
}

static uint32_t list_marks_locked(const struct space *space, const struct msg_audit_view *ask,
                                  struct msg_audit_viewed *out)
{
    kernel_set *marks = (kernel_set *)(out + 1);
    uint32_t count = 0;

    for (uint64_t at = ask->start; at < ask->end; at += SHARERS_PART) {
        if (count == MARKS_MAX) {
            out->next = at;
            break;
        }
        marks[count++] = lie == LIE_MARK ? 0 : sharers_in(&space->sharers, at, at + SHARERS_PART);
    }
    return (uint32_t)(sizeof(*out) + count * sizeof(*marks));
}

uint32_t audit_view_here(const struct msg_audit_view *ask, struct msg_audit_viewed *out)
{
    struct space *space = space_get(ask->space);
    uint32_t length = sizeof(*out);

    *out = (struct msg_audit_viewed){.next = ask->end, .beyond = UINT64_MAX};
    if (space == NULL)
        return length;
    spin_lock(&space->lock);
    out->members = space->members;
    if (ask->what == AUDIT_VIEW_AREAS)
        length = list_areas_locked(space, ask, out);
    else if (ask->what == AUDIT_VIEW_MARKS)
        length = list_marks_locked(space, ask, out);
    else
        length = list_pages_locked(space, ask, out);
    spin_unlock(&space->lock);
    space_put(space);
    return length;
}

/* --- frames of all spaces --- */

/* Adds the frames within the range that the leaf table LEAF, for addresses from VA on, names. Returns the new COUNT. */
static uint32_t list_leaf(struct listing *listing, const uint64_t *leaf, uint64_t va,
                          const struct msg_audit_frames *ask, uint64_t *words, uint32_t count)
{
    for (uint32_t i = 0; (i = paging_next_used(leaf, i, LEAF_ENTRIES)) < LEAF_ENTRIES; i++) {
        uint64_t frame = leaf[i] & PAGING_FRAME;
        uint64_t word = frame;

        if (frame < ask->start || frame >= ask->end)
            continue;
        if ((leaf[i] & PAGING_SOFT_OWNING) != 0)
            word |= FRAME_OWNED;
        if ((leaf[i] & PAGING_SOFT_COW) == 0 && (prot_of(listing, va + i * PAGE_SIZE) & AREA_SHARED) == 0)
            word |= FRAME_EXCLUSIVE;
        words[count++] = word;
    }
    return count;
}

struct file_listing {
    const struct msg_audit_frames *ask;
    uint64_t *words;
    uint32_t count;
};

static void list_file(uint64_t frame, void *context)
{
    struct file_listing *listing = context;

    if (frame < listing->ask->start || frame >= listing->ask->end)
        return;
    assert(listing->count < WORDS_MAX); /* file_objects_some calls for a part only: what is left out would be freed */
    listing->words[listing->count++] = frame | FRAME_OWNED;
}

/* In parts of their own, after all spaces: frames of another kernel that files here have, from the place in ASK on. */
static uint32_t list_files(const struct msg_audit_frames *ask, struct msg_audit_framed *out, uint64_t *words)
{
    struct file_listing listing = {.ask = ask, .words = words};
    uint64_t at = ask->space & ~AUDIT_FILES;
    struct object_place place = {(uint32_t)(at >> AUDIT_FILES_PART_SHIFT), (uint32_t)at, ask->va};

    if (file_objects_some(&place, list_file, &listing))
        *out = (struct msg_audit_framed){AUDIT_FILES | (uint64_t)place.part << AUDIT_FILES_PART_SHIFT | place.object,
                                         place.page};
    return listing.count;
}

uint32_t audit_frames_here(const struct msg_audit_frames *ask, struct msg_audit_framed *out)
{
    uint64_t *words = (uint64_t *)(out + 1);
    uint64_t id = ask->space, va = ask->va & ~(LEAF_SIZE - 1);
    uint32_t count = 0, looks = 0, owner = frame_owner(ask->start);
    struct space *space;

    *out = (struct msg_audit_framed){0};
    while (ask->space < AUDIT_FILES && out->va == 0 && out->space == 0 && (space = space_next(id)) != NULL) {
        struct listing listing = {.space = space};
        const uint64_t *leaf;
        bool none;

        spin_lock(&space->lock);
        if (space->id != id)
            va = 0;
        none = owner != instance.kernel && owners_none(&space->owners);
        if (none && looks >= LOOKS_MAX)
            *out = (struct msg_audit_framed){space->id, 0};
        if (none) /* which takes some time, too: the next space has to be found */
            looks += TABLE_LOOKS;
        for (; !none && (leaf = paging_next_leaf_look(&space->tables, &va, USER_END)) != NULL; va += LEAF_SIZE) {
            bool has = owner == instance.kernel || owners_has(&space->owners, va, owner);

            if (count + LEAF_ENTRIES > WORDS_MAX || looks >= LOOKS_MAX) {
                *out = (struct msg_audit_framed){space->id, va};
                break;
            }
            looks += has ? TABLE_LOOKS : 1;
            if (has)
                count = list_leaf(&listing, leaf, va, ask, words, count);
        }
        spin_unlock(&space->lock);
        id = space->id + 1;
        va = 0;
        space_put(space);
    }
    if (ask->space >= AUDIT_FILES)
        count = list_files(ask, out, words);
    else if (out->space == 0 && owner != instance.kernel)
        out->space = AUDIT_FILES;
    if (count > 0 && lie == LIE_COUNT)
        words[0] ^= FRAME_OWNED;
    return (uint32_t)(sizeof(*out) + count * sizeof(*words));
}

/* --- messages --- */

struct audit_answer {
    struct long_answer head;
    struct space_deferred deferred; /* AUDIT_VIEW: waits for answers to faults under way */
    struct msg_audit_view ask;
    uint8_t bytes[AUDIT_PART] __attribute__((aligned(8)));
};

static void answer_view(struct audit_answer *answer)
{
    uint32_t length = audit_view_here(&answer->ask, (struct msg_audit_viewed *)(void *)answer->bytes);

    long_answer_give(&answer->head, answer->bytes, (int)length);
}

static void run_deferred(struct space_deferred *deferred)
{
    answer_view(container_of(deferred, struct audit_answer, deferred));
}

/* A view has to include what answers to faults map that left the home before the space was locked. True: the view is
 * deferred until they have arrived. */
static bool defer(struct audit_answer *answer)
{
    struct space *space = space_get(answer->ask.space);
    bool deferred = false;

    answer->deferred = (struct space_deferred){.start = answer->ask.start, .end = answer->ask.end, .run = run_deferred};
    if (space == NULL)
        return false;
    spin_lock(&space->lock);
    deferred = space_defer_locked(space, &answer->deferred);
    spin_unlock(&space->lock);
    space_put(space); /* the thread whose question is under way keeps the space */
    return deferred;
}

static void handle_view(const struct msg *m)
{
    const struct msg_audit_view *ask = m->data;
    struct audit_answer *answer;

    if (((ask->start | ask->end) & (PAGE_SIZE - 1)) != 0 || ask->start > ask->end || ask->end > USER_END ||
        ask->what < AUDIT_VIEW_AREAS || ask->what > AUDIT_VIEW_MARKS ||
        (ask->what == AUDIT_VIEW_PAGES && ask->end - ask->start > AUDIT_PAGES * PAGE_SIZE)) {
        msg_reply_error(&m->ticket, -EPROTO);
        return;
    }
    answer = long_answer_create(sizeof(*answer));
    if (answer == NULL) {
        msg_reply_error(&m->ticket, -ENOMEM);
        return;
    }
    answer->ask = *ask;
    long_answer_keep(m, &answer->head);
    if (!defer(answer))
        answer_view(answer);
}

static void handle_frames(const struct msg *m)
{
    struct audit_answer *answer = long_answer_create(sizeof(*answer));

    if (answer == NULL)
        msg_reply_error(&m->ticket, -ENOMEM);
    else
        long_answer_send(m, &answer->head, answer->bytes,
                         audit_frames_here(m->data, (struct msg_audit_framed *)(void *)answer->bytes));
}

void audit_view_init(void)
{
    static struct option option = {.name = "audit", .set = lie_set};

    option_add(&option);
    msg_register(MSG_AUDIT_VIEW, handle_view, sizeof(struct msg_audit_view), sizeof(struct msg_audit_viewed));
    msg_register(MSG_AUDIT_FRAMES, handle_frames, sizeof(struct msg_audit_frames), sizeof(struct msg_audit_framed));
}
