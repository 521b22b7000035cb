/* The areas of a space, reported by its home. See the header. */
#include "mm/retrieve/areas.h"

#include "kernel/abi/errno.h"
#include "kernel/lib/list.h"
#include "kernel/wait/completion.h"
#include "mm/lease/lease.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/call.h"
#include "msg/channel.h"
#include "msg/long_answer.h"

#define AREAS_MAX ((LONG_ANSWER_MAX - sizeof(struct msg_space_areas)) / sizeof(struct msg_space_area))

static uint32_t list_areas(struct space *space, uint64_t from, struct msg_space_areas *head)
{
    struct msg_space_area *areas = (struct msg_space_area *)(head + 1);
    uint32_t count = 0;

    spin_lock(&space->lock);
    *head = (struct msg_space_areas){.break_start = space->break_start, .break_now = space->break_now};
    for (const struct area *area = area_next(&space->areas, from); area != NULL;
         area = area_after(&space->areas, area)) {
        if (count == AREAS_MAX) {
            head->next = area->start;
            break;
        }
        /* the first area may have grown down since FROM was determined */
        areas[count] = (struct msg_space_area){area->start > from ? area->start : from, area->end, area->prot, 0};
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
            list_areas(space, ask->page & ~SPACE_AREAS_KEPT, (struct msg_space_areas *)(void *)(answer + 1)));
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

/* Returns 1: M is kept and will be answered after the leases of other kernels are recalled; 0: there are none to
 * recall; -ENOMEM. */
static int defer_areas(const struct msg *m, struct space *space)
{
    const struct msg_space_page *ask = m->data;
    struct late_areas *late;
    struct lease_wait *start = NULL;
    int result;

    if (lease_map_empty(&space->leases.map))
        return 0;
    late = long_answer_create(MSG_MAX);
    if (late == NULL)
        return -ENOMEM;
    late->space = space;
    late->from = ask->page & ~SPACE_AREAS_KEPT;
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

static void handle_areas(const struct msg *m)
{
    const struct msg_space_page *ask = m->data;
    struct space *space = space_get(ask->space);
    int error = space == NULL ? -ESRCH : space->home != instance.kernel ? -EPROTO : 0;

    if (error == 0 && (ask->page & SPACE_AREAS_KEPT) != 0)
        space_mark(space, 0, USER_END, m->ticket.kernel); /* everywhere: before any of the areas is reported */
    if (error == 0)
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
    struct lease_wait *start;
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

int space_areas_of(uint64_t id, uint32_t home, uint64_t from, struct msg_space_areas *head)
{
    struct msg_space_page ask = {.space = id, .page = from};
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

void space_areas_init(void)
{
    msg_register(MSG_SPACE_AREAS, handle_areas, sizeof(struct msg_space_page), sizeof(struct msg_space_areas));
}
