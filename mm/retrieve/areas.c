/* The areas of a space, reported by its home. See the header. */
#include "mm/retrieve/areas.h"

#include "kernel/abi/errno.h"
#include "kernel/lib/list.h"
#include "kernel/wait/completion.h"
#include "mm/lease/lease.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "msg/request/long_answer.h"

#define AREAS_MAX ((LONG_ANSWER_MAX - sizeof(struct msg_space_areas)) / sizeof(struct msg_space_area))

/* Where this kernel's knowledge of areas from FROM on ends: at the home where another kernel's lease begins, and in a
 * lease of this kernel at its end. HEAD gets where to continue, and at which kernel. */
static uint64_t known_until_locked(const struct space *space, uint64_t from, struct msg_space_areas *head)
{
    const struct lease *lease = space->home != instance.kernel ? lease_map_next(&space->leases.map, from)
                                                               : lease_others_locked(space, from, USER_END);

    if (lease == NULL)
        return space->home != instance.kernel ? from : USER_END;
    if (space->home != instance.kernel) {
        head->next = lease->end < USER_END ? lease->end : 0;
        return lease->end;
    }
    head->next = lease->start > from ? lease->start : from;
    head->holder = lease->start > from ? 0 : lease->kernel + 1;
    head->until = lease->start > from ? 0 : lease->end;
    return lease->start;
}

static uint32_t list_areas(struct space *space, uint64_t from, struct msg_space_areas *head)
{
    struct msg_space_area *areas = (struct msg_space_area *)(head + 1);
    uint32_t count = 0;
    uint64_t end;

    spin_lock(&space->lock);
    *head = (struct msg_space_areas){.break_start = space->break_start, .break_now = space->break_now};
    end = known_until_locked(space, from, head);
    for (const struct area *area = area_next(&space->areas, from); area != NULL && area->start < end;
         area = area_after(&space->areas, area)) {
        if (count == AREAS_MAX) {
            head->next = area->start;
            break;
        }
        /* the first area may have grown down since FROM was determined */
        areas[count] = (struct msg_space_area){area->start > from ? area->start : from,
                                               area->end < end ? area->end : end, area->prot, 0};
        areas[count].backing = area_backing_at(area, areas[count].start);
        count++;
    }
    spin_unlock(&space->lock);
    return (uint32_t)(sizeof(*head) + count * sizeof(*areas));
}

/* --- requests of other kernels --- */

static void answer_list(const struct msg *m, struct space *space)
{
    const struct msg_space_page *ask = m->data;
    struct long_answer *answer = long_answer_create(MSG_MAX);

    if (answer == NULL)
        msg_reply_error(&m->ticket, -ENOMEM);
    else
        long_answer_send(
            m, answer, answer + 1,
            list_areas(space, ask->page & ~(PAGE_SIZE - 1), (struct msg_space_areas *)(void *)(answer + 1)));
}

/* A SPACE_AREAS that waits for recalls of leases. Its requester holds no lock. */
struct late_areas {
    struct long_answer answer;
    struct space *space; /* kept by the reference of the recall */
    uint64_t from;
};

_Static_assert(sizeof(struct late_areas) + LONG_ANSWER_MAX <= MSG_MAX, "the list follows");

static void run_recalled(void *context, int error)
{
    struct late_areas *late = context;
    struct msg_space_areas *head = (struct msg_space_areas *)(void *)(late + 1);

    long_answer_give(&late->answer, head, error != 0 ? error : (int)list_areas(late->space, late->from, head));
}

/* For SPACE_AREAS_RECALLED. Returns 1: M is kept and will be answered after the leases of other kernels are recalled;
 * 0: there are none to recall; -ENOMEM. */
static int defer_areas(const struct msg *m, struct space *space)
{
    const struct msg_space_page *ask = m->data;
    struct late_areas *late;
    struct lease_recall *start = NULL;
    int result;

    if (lease_map_empty(&space->leases.map))
        return 0;
    late = long_answer_create(MSG_MAX);
    if (late == NULL)
        return -ENOMEM;
    late->space = space;
    late->from = ask->page & ~(PAGE_SIZE - 1);
    spin_lock(&space->lock);
    result = lease_wait_locked(space, (struct space_range){late->from, USER_END}, run_recalled, late, &start);
    if (result > 0)
        long_answer_keep(m, &late->answer);
    spin_unlock(&space->lock);
    lease_recall(start);
    if (result <= 0)
        long_answer_free(&late->answer);
    return result;
}

/* Whether this kernel can list areas from FROM on, with the bits of SPACE_AREAS: it is the home, it has a lease there,
 * or what it has leased is being read by a fork. 0 or a negative errno; -EAGAIN: the lease has been recalled. */
static int may_list(struct space *space, uint64_t from)
{
    int error = 0;

    if (space->home == instance.kernel || (from & SPACE_AREAS_HELD) != 0)
        return 0;
    spin_lock(&space->lock);
    if (!lease_has_locked(space, from, from + 1))
        error = -EAGAIN;
    spin_unlock(&space->lock);
    return error;
}

static void handle_areas(const struct msg *m)
{
    const struct msg_space_page *ask = m->data;
    struct space *space = space_get(ask->space);
    int error = space == NULL ? -ESRCH : may_list(space, ask->page);

    if (error == 0 && (ask->page & (SPACE_AREAS_KEPT | SPACE_AREAS_RECALLED)) != 0 && space->home != instance.kernel)
        error = -EPROTO;
    if (error == 0 && (ask->page & SPACE_AREAS_KEPT) != 0)
        space_mark(space, 0, USER_END, m->ticket.kernel); /* everywhere: before any of the areas is reported */
    if (error == 0 && (ask->page & SPACE_AREAS_RECALLED) != 0)
        error = defer_areas(m, space);
    if (error < 0)
        msg_reply_error(&m->ticket, error);
    else if (error == 0)
        answer_list(m, space);
    if (space != NULL)
        space_put(space);
}

/* --- observers on any kernel --- */

struct looking {
    struct completion done;
    struct space *space;
    struct msg_space_areas *head;
    uint64_t from;
    int length;
};

static void looked(void *context, int error)
{
    struct looking *looking = context;

    looking->length = error != 0 ? error : (int)list_areas(looking->space, looking->from, looking->head);
    completion_signal(&looking->done);
}

/* Drops the caller's reference to SPACE before it waits, because the end of the space waits for references without
 * letting tasks run; the recall holds one. */
static int areas_here(struct space *space, uint64_t from, struct msg_space_areas *head)
{
    struct wait_reason reason = {.what = "recall of a lease", .kernel = -1, .key = from};
    struct looking looking = {.space = space, .head = head, .from = from};
    struct lease_recall *start;
    int waits;

    completion_init(&looking.done);
    spin_lock(&space->lock);
    reason.kernel = lease_holder_locked(space, (struct space_range){from, USER_END});
    waits = lease_wait_locked(space, (struct space_range){from, USER_END}, looked, &looking, &start);
    spin_unlock(&space->lock);
    if (waits == 0)
        looked(&looking, 0);
    space_put(space);
    lease_recall(start);
    if (waits < 0)
        return waits;
    completion_wait(&looking.done, &reason);
    return looking.length;
}

/* Asks KERNEL, which may be this one, for the areas from FROM on that it knows. FROM may have SPACE_AREAS_HELD. */
static int areas_at(uint64_t id, uint32_t kernel, uint64_t from, struct msg_space_areas *head)
{
    struct msg_space_page ask = {.space = id, .page = from};
    struct space *space;
    int length;

    if (kernel != instance.kernel) {
        length = msg_call(kernel, MSG_SPACE_AREAS, &ask, sizeof(ask), head, MSG_MAX, "areas of a process", id);
        return length >= 0 && length < (int)sizeof(*head) ? -EPROTO : length;
    }
    space = space_get(id);
    if (space == NULL)
        return -ESRCH;
    length = may_list(space, from);
    if (length == 0)
        length = (int)list_areas(space, from & ~(PAGE_SIZE - 1), head);
    space_put(space);
    return length;
}

int space_areas_held(uint64_t id, uint32_t kernel, uint64_t from, struct msg_space_areas *head)
{
    return areas_at(id, kernel, from | SPACE_AREAS_HELD, head);
}

/* Asks the home for the areas from FROM on, after other kernels' leases from there on have been recalled. */
static int areas_recalled(uint64_t id, uint32_t home, uint64_t from, struct msg_space_areas *head)
{
    struct msg_space_page ask = {.space = id, .page = from | SPACE_AREAS_RECALLED};
    struct space *space;
    int length;

    if (home != instance.kernel) {
        length = msg_call(home, MSG_SPACE_AREAS, &ask, sizeof(ask), head, MSG_MAX, "areas of a process", id);
        return length >= 0 && length < (int)sizeof(*head) ? -EPROTO : length;
    }
    space = space_get(id);
    if (space == NULL)
        return -ESRCH;
    return areas_here(space, from, head);
}

int space_areas_of(uint64_t id, uint32_t home, uint64_t from, struct msg_space_areas *head)
{
    struct msg_space_areas known;
    int length = areas_at(id, home, from, head);

    while (length >= 0 && head->holder != 0) {
        known = *head;
        length = areas_at(id, known.holder - 1 < KERNELS_MAX ? (uint32_t)known.holder - 1 : home, from, head);
        if (length >= 0) {
            head->break_start = known.break_start;
            head->break_now = known.break_now;
            head->holder = 0;
        } else if (length == -EAGAIN || length == -ESRCH) {
            /* It has no lease there: it has ended, the lease is on its way or is being recalled, or neither the lease
             * nor its return had memory. The last of these does not pass, so asking the home again is not enough. */
            length = areas_recalled(id, home, from, head);
        }
    }
    return length;
}

int space_areas_recall(uint64_t id, uint32_t home, struct msg_space_areas *head)
{
    return areas_recalled(id, home, 0, head);
}

void space_areas_init(void)
{
    msg_register(MSG_SPACE_AREAS, handle_areas, sizeof(struct msg_space_page), sizeof(struct msg_space_areas));
}
