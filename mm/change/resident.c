/* Where pages are (move_pages without nodes), and which have a frame (mincore): SPACE_RESIDENT, one question for many
 * pages. mm/retrieve/retrieval.md, "Where pages are". */
#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/area/backing.h"
#include "mm/change/change.h"
#include "mm/change/internal.h"
#include "mm/file/page.h"
#include "mm/frame/reference.h"
#include "mm/lease/lease.h"
#include "mm/lock/lock.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/page/zero_page.h"
#include "mm/space/entry.h"
#include "mm/space/question.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "msg/request/long_answer.h"
#include "msg/slice.h"

/* A look at pages with spinlocks held ends after so many leases, areas and tables: some 60,000 instructions at most. So
 * all runs of a list are looked at, if each lies in one of these. */
#define STEPS SPACE_ASK_RUNS
#define UNASKED 255u /* in place of a result: no kernel has been asked yet */

/* --- lists of pages --- */

static uint64_t run_start(uint64_t run)
{
    return run & ~(PAGE_SIZE - 1);
}

static uint64_t run_pages(uint64_t run)
{
    return (run & (PAGE_SIZE - 1)) + 1;
}

bool space_pages_add(struct space_pages *list, uint64_t page)
{
    if (list->pages == SPACE_ASK_PAGES)
        return false;
    if (list->runs != 0 && page == list->next) {
        list->run[list->runs - 1]++;
    } else {
        if (list->runs == SPACE_ASK_RUNS)
            return false;
        list->run[list->runs++] = page;
    }
    list->pages++;
    list->next = page + PAGE_SIZE;
    return true;
}

bool space_pages_set(struct space_pages *list, const uint64_t *run, uint32_t runs)
{
    space_pages_clear(list);
    if (runs > SPACE_ASK_RUNS)
        return false;
    for (uint32_t i = 0; i < runs; i++) {
        uint64_t start = run_start(run[i]), pages = run_pages(run[i]);

        if (start >= USER_END || pages > (USER_END - start) / PAGE_SIZE || pages > SPACE_ASK_PAGES - list->pages)
            return false;
        list->run[i] = run[i];
        list->pages += (uint32_t)pages;
        list->next = start + pages * PAGE_SIZE;
    }
    list->runs = runs;
    return true;
}

/* Makes PART the pages of LIST, as many as fit, of which WHERE says VALUE. */
static void select_pages(const struct space_pages *list, const uint8_t *where, uint8_t value, struct space_pages *part)
{
    uint32_t i = 0;

    space_pages_clear(part);
    for (uint32_t r = 0; r < list->runs; r++) {
        uint64_t page = run_start(list->run[r]), end = page + run_pages(list->run[r]) * PAGE_SIZE;

        for (; page < end; page += PAGE_SIZE, i++) {
            if (where[i] == value && !space_pages_add(part, page))
                return;
        }
    }
}

/* --- on one kernel --- */

static bool has_frame(uint64_t entry)
{
    return entry != 0 && (entry & PAGING_SOFT_PENDING_FREE) == 0;
}

static uint8_t where_frame(uint64_t entry)
{
    return zero_page_is(entry) ? SPACE_WHERE_ZERO : (uint8_t)policy_node_of(entry & PAGING_FRAME);
}

/* Sets WHERE for the first pages of [START, END), which lie in one lease or in none, in one area or in none, and in one
 * table. Returns how many; at least one. KNOWN: if this is not the home, only what is leased here is known; else
 * whatever is mapped here counts. */
static uint32_t look_locked(struct space *space, uint64_t start, uint64_t end, uint8_t *where, bool known)
{
    const struct lease *lease = lease_others_locked(space, start, end);
    const struct area *area = NULL;
    const uint64_t *entry = NULL;
    uint8_t every = SPACE_WHERE_FAULT; /* of each page without a frame */
    uint64_t count;

    if (known && space->home != instance.kernel) {
        lease = lease_map_empty(&space->leases.map) ? NULL : lease_map_next(&space->leases.map, start);
        if (lease == NULL || lease->start > start || lease->kernel != instance.kernel) {
            every = SPACE_WHERE_AGAIN;
            end = lease != NULL && lease->start > start && lease->start < end ? lease->start : end;
        }
    } else if (lease != NULL && lease->start <= start) {
        every = (uint8_t)(SPACE_WHERE_LEASED | lease->kernel);
    } else if (lease != NULL) {
        end = lease->start; /* lies in the range */
    }
    if (lease != NULL && lease->start <= start && lease->end < end)
        end = lease->end;
    if (every == SPACE_WHERE_FAULT) {
        uint64_t table_end = (start & ~(LEAF_SIZE - 1)) + LEAF_SIZE;

        end = table_end < end ? table_end : end;
        area = area_next(&space->areas, start);
        if (area != NULL && area->start > start) {
            end = area->start < end ? area->start : end;
        } else if (area != NULL) {
            end = area->end < end ? area->end : end;
            if (area->backing != BACKING_NONE || (area->prot & AREA_SHARED) != 0)
                every = SPACE_WHERE_NONE;
        }
        entry = paging_look(&space->tables, start);
    }
    count = (end - start) / PAGE_SIZE;
    for (uint64_t i = 0; i < count; i++)
        where[i] = entry != NULL && has_frame(entry[i]) ? where_frame(entry[i]) : every;
    return (uint32_t)count;
}

/* Sets WHERE for as many of LIST's pages as one critical section may look at. Returns how many; at least one of those
 * that there are. */
static uint32_t look(struct space *space, const struct space_pages *list, uint8_t *where, bool known)
{
    uint32_t done = 0, steps = 0;

    spin_lock(&space->lock);
    for (uint32_t r = 0; r < list->runs && steps < STEPS; r++) {
        uint64_t at = run_start(list->run[r]), end = at + run_pages(list->run[r]) * PAGE_SIZE;

        for (; at < end && steps < STEPS; steps++) {
            uint32_t count = look_locked(space, at, end, where + done, known);

            done += count;
            at += count * PAGE_SIZE;
        }
    }
    spin_unlock(&space->lock);
    return done;
}

struct long_where {
    struct long_answer head;
    uint8_t where[SPACE_ASK_PAGES];
};

/* Answers M: about all pages that LIST has, if they can be looked at in one go; without memory, about those of which
 * the answer fits into a slot. */
static void answer(const struct msg *m, struct space *space, struct space_pages *list)
{
    bool known = space->retrieval->home_knows;
    struct long_where *words = list->pages > MSG_SHORT ? long_answer_create(sizeof(*words)) : NULL;

    if (words != NULL) {
        long_answer_send(m, &words->head, words->where, look(space, list, words->where, known));
    } else {
        uint8_t where[SPACE_ASK_PAGES];
        uint32_t count = look(space, list, where, known);

        msg_reply(&m->ticket, where, count < MSG_SHORT ? count : MSG_SHORT);
    }
}

static void handle_resident(const struct msg *m)
{
    const struct msg_space_resident *ask = m->data;
    uint32_t bytes = m->length - (uint32_t)sizeof(*ask);
    struct space *space = space_get(ask->space);
    struct space_pages list;

    if (space == NULL) {
        msg_reply_error(&m->ticket, -ESRCH);
        return;
    }
    if (bytes == 0 || bytes % sizeof(list.run[0]) != 0 || bytes > sizeof(list.run) ||
        !space_pages_set(&list, (const uint64_t *)(ask + 1), bytes / (uint32_t)sizeof(list.run[0])))
        msg_reply_error(&m->ticket, -EPROTO);
    else
        answer(m, space, &list);
    space_put(space);
}

void space_resident_init(void)
{
    msg_register(MSG_SPACE_RESIDENT, handle_resident, sizeof(struct msg_space_resident), 0);
}

/* --- over kernels --- */

static bool is_result(uint8_t where)
{
    return where < instance.plan.node_count || (where >= SPACE_WHERE_ZERO && where <= SPACE_WHERE_NONE);
}

bool space_where_valid(const uint8_t *where, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!is_result(where[i]))
            return false;
    }
    return true;
}

/* Whether KERNEL, which is the home or not, may answer WHERE. */
static bool may_answer(const struct space *space, uint32_t kernel, uint8_t where)
{
    uint32_t holder = where - (uint32_t)SPACE_WHERE_LEASED;

    if (is_result(where))
        return true;
    if (kernel != space->home)
        return where == SPACE_WHERE_AGAIN;
    return where >= SPACE_WHERE_LEASED && holder < instance.kernels && holder != space->home;
}

/* Has KERNEL, perhaps this one, say where LIST's pages are. Returns about how many it did, at least one, or a negative
 * errno. */
static int ask_kernel(struct space *space, uint32_t kernel, struct space_pages *list, uint8_t *where)
{
    int got;

    if (kernel == instance.kernel)
        return (int)look(space, list, where, true);
    list->head.space = space->id;
    got = msg_call(kernel, MSG_SPACE_RESIDENT, &list->head,
                   (uint32_t)(sizeof(list->head) + list->runs * sizeof(list->run[0])), where, list->pages,
                   "where pages are", list->run[0]);
    if (got == -ESRCH && kernel != space->home) { /* it has no lease where it has no space */
        memset(where, SPACE_WHERE_AGAIN, list->pages);
        return (int)list->pages;
    }
    if (got == 0)
        return -EPROTO;
    for (int i = 0; i < got; i++) {
        if (!may_answer(space, kernel, where[i]))
            return -EPROTO;
    }
    return got;
}

/* Has the home recall the lease of PAGE that a kernel named as its holder does not have: it is on its way to it, is
 * being recalled, or neither the lease nor its return had memory. The last of these does not pass, so asking the home
 * again is not enough. */
static int reclaim(struct space *space, uint64_t page)
{
    struct msg_space_change ask = {
        .space = space->id, .start = page, .length = PAGE_SIZE, .operation = MSG_SPACE_RECLAIM};

    return (int)space_ask_home(space, &ask);
}

/* Asks about the pages of LIST of which WHERE says VALUE, which is no result, the kernel that VALUE stands for. */
static int ask_about(struct space *space, const struct space_pages *list, uint8_t *where, uint8_t value)
{
    uint32_t kernel = value == UNASKED             ? instance.kernel
                      : value == SPACE_WHERE_AGAIN ? space->home
                                                   : value - (uint32_t)SPACE_WHERE_LEASED;
    uint8_t answers[SPACE_ASK_PAGES];
    uint64_t lost = USER_END;
    struct space_pages part;
    int got;

    select_pages(list, where, value, &part);
    got = ask_kernel(space, kernel, &part, answers);
    if (got < 0)
        return got;
    for (uint32_t i = 0, next = 0; next < (uint32_t)got; i++) {
        if (where[i] == value)
            where[i] = answers[next++];
    }
    if (value == UNASKED)
        return 0; /* nobody has named this kernel as a holder */
    for (uint32_t r = 0, i = 0; r < part.runs && lost == USER_END; r++) {
        for (uint64_t p = 0; p < run_pages(part.run[r]) && i < (uint32_t)got && lost == USER_END; p++, i++) {
            if (answers[i] == SPACE_WHERE_AGAIN)
                lost = run_start(part.run[r]) + p * PAGE_SIZE;
        }
    }
    return lost != USER_END ? reclaim(space, lost) : 0;
}

/* For strategies that find by directory. */
static int where_by_directory(struct space *space, const struct space_pages *list, uint8_t *where)
{
    uint32_t done = look(space, list, where, true);
    int error = 0;

    memset(where + done, UNASKED, list->pages - done);
    for (uint32_t i = 0; i < list->pages && error == 0; i++) {
        while (where[i] >= SPACE_WHERE_LEASED && error == 0) {
            error = ask_about(space, list, where, where[i]);
            if (error == 0 && slice_check())
                error = -EINTR;
        }
    }
    return error;
}

/* Where PAGE, which is locked, is, for strategies that find by asking, which grant no leases. */
static int where_locked(struct space *space, uint64_t page, uint8_t *where)
{
    struct msg_space_mapping mapped;
    const uint64_t *entry;
    bool known;
    int error;

    spin_lock(&space->lock);
    entry = paging_look(&space->tables, page);
    known = area_find(&space->areas, page) != NULL && entry != NULL && *entry != 0;
    look_locked(space, page, page + PAGE_SIZE, where, false);
    spin_unlock(&space->lock);
    if (known)
        return 0;
    error = space->retrieval->fetch(space, page, &mapped);
    if (error != 0 && mapped.kind != SPACE_FRAME)
        return -ENOMEM;
    if (mapped.kind == SPACE_FRAME)
        *where = frame_exists(mapped.frame) ? where_frame(mapped.frame) : SPACE_WHERE_FAULT;
    else if (mapped.kind != SPACE_NONE)
        *where = mapped.backing == BACKING_NONE && (mapped.prot & AREA_SHARED) == 0 ? SPACE_WHERE_FAULT
                                                                                    : SPACE_WHERE_NONE;
    return 0;
}

static int where_by_asking(struct space *space, uint64_t page, uint8_t *where)
{
    struct space_range range = {page, page + PAGE_SIZE};
    struct space_lock lock;
    int error = (int)space_acquire(space, range, &lock);

    if (error != 0)
        return error;
    space_gets_await(space, range);
    error = where_locked(space, page, where);
    space_release(space, &lock);
    return error;
}

int space_where(struct space *space, const struct space_pages *list, uint8_t *where)
{
    uint32_t i = 0;
    int error = 0;

    if (space->retrieval->home_knows)
        return where_by_directory(space, list, where);
    for (uint32_t r = 0; r < list->runs && error == 0; r++) {
        for (uint64_t p = 0; p < run_pages(list->run[r]) && error == 0; p++) {
            error = where_by_asking(space, run_start(list->run[r]) + p * PAGE_SIZE, &where[i++]);
            if (error == 0 && slice_check())
                error = -EINTR;
        }
    }
    return error;
}

int space_page_node(struct space *space, uint64_t address)
{
    uint8_t where = SPACE_WHERE_FAULT;
    struct space_pages list;
    int error;

    if (address >= USER_END)
        return -EFAULT;
    space_pages_clear(&list);
    space_pages_add(&list, run_start(address));
    error = space_where(space, &list, &where);
    return error != 0 ? error : space_where_node(where);
}

/* --- which pages have a frame --- */

/* A bit for each of COUNT pages that has a frame, of any kernel. */
static uint64_t resident_bits(const uint8_t *where, uint32_t count)
{
    uint64_t bits = 0;

    for (uint32_t i = 0; i < count; i++)
        bits |= where[i] <= SPACE_WHERE_ZERO ? 1ull << i : 0;
    return bits;
}

static void note_resident(void *context, uint32_t kernel, const void *reply, int length)
{
    uint64_t *pages = context;

    (void)kernel;
    if (length > 0)
        *pages |= resident_bits(reply, (uint32_t)length < SPACE_RESIDENT_MAX ? (uint32_t)length : SPACE_RESIDENT_MAX);
}

int64_t space_resident_pages(struct space *space, uint64_t start, uint32_t count)
{
    struct space_pages list = {.head = {space->id}, .run = {start | (count - 1)}, .runs = 1, .pages = count};
    uint8_t where[SPACE_RESIDENT_MAX];
    uint64_t pages;
    int error;

    if (space->retrieval->home_knows) {
        error = space_where(space, &list, where);
        return error != 0 ? error : (int64_t)resident_bits(where, count);
    }
    pages = resident_bits(where, look(space, &list, where, false));
    msg_gather(space_others(space), MSG_SPACE_RESIDENT, &list.head, sizeof(list.head) + sizeof(list.run[0]),
               note_resident, &pages, "pages that are mapped", start);
    return (int64_t)pages;
}

int64_t space_cached_pages(struct space *space, uint64_t start, uint32_t count, uint64_t backing)
{
    int64_t pages = space_resident_pages(space, start, count);
    uint64_t cached;
    int error;

    if (pages < 0 || !backing_is_file(backing))
        return pages;
    error = file_pages_resident(backing, count, &cached);
    return error != 0 ? error : pages | (int64_t)cached;
}
