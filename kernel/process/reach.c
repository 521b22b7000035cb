/* Memory of any process. See the header. A worker at the process's home lodges in the process (group_lodge), so its
 * memory stays as long as it is at it; pages that other kernels have are fetched as by a fault there. */
#include "kernel/process/reach.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/area/backing.h"
#include "mm/change/change.h"
#include "mm/fault/page_move.h"
#include "mm/frame/heap.h"
#include "mm/policy/policy.h"
#include "mm/retrieve/areas.h"
#include "mm/retrieve/wire.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "mm/user/access.h"
#include "msg/call.h"
#include "msg/channel.h"
#include "tasks/process/group.h"
#include "tasks/process/process.h"
#include "tasks/remote/work.h"
#include "tasks/sched/sched.h"

#define WINDOW 32u         /* pages that are asked for at a time */
#define WINDOWS_A_TURN 64u /* after so many others have theirs: an area may be most of the address space */

/* --- where the memory is --- */

void reach_pause(uint64_t done)
{
    if (done / (WINDOW * PAGE_SIZE) % WINDOWS_A_TURN != WINDOWS_A_TURN - 1)
        return;
    msg_poll(); /* at home it waits for nothing */
    sched_yield();
}

/* One page that has a frame. 1: it is on a node of FROM and stays there. */
static int64_t migrate_page(struct space *space, uint64_t page, uint64_t from, uint64_t to)
{
    int node = space_page_node(space, page);

    if (node < 0 || (from >> node & 1) == 0)
        return 0;
    /* of two sets of one size each node has its own counterpart; else what is in the new set already is right */
    if (kernel_set_count(from) != kernel_set_count(to) && (to >> node & 1) != 0)
        return 0;
    return space_page_move(space, page, 1ull << policy_remap((uint32_t)node, from, to)) < 0 ? 1 : 0;
}

static int64_t count_pages(struct space *space, uint64_t start, uint64_t size)
{
    int64_t sum = 0;

    if ((start & (PAGE_SIZE - 1)) != 0 || start > USER_END || size > USER_END - start)
        return -EPROTO;
    for (uint64_t at = start; at < start + size; at += WINDOW * PAGE_SIZE) {
        uint64_t left = (start + size - at) / PAGE_SIZE;
        int64_t pages = space_resident_pages(space, at, (uint32_t)(left < WINDOW ? left : WINDOW));

        if (pages < 0)
            return pages;
        sum += kernel_set_count((uint64_t)pages);
        reach_pause(at - start);
    }
    return sum;
}

static int64_t migrate_area(struct space *space, uint64_t start, uint64_t end, uint64_t from, uint64_t to)
{
    int64_t left = 0;

    for (uint64_t at = start; at < end; at += WINDOW * PAGE_SIZE) {
        uint64_t count = (end - at) / PAGE_SIZE < WINDOW ? (end - at) / PAGE_SIZE : WINDOW;
        int64_t pages = space_resident_pages(space, at, (uint32_t)count);

        if (pages < 0)
            return pages;
        for (uint64_t i = 0; i < count; i++) {
            if ((pages >> i & 1) != 0)
                left += migrate_page(space, at + i * PAGE_SIZE, from, to);
        }
        reach_pause(at - start);
    }
    return left;
}

static int64_t migrate(struct space *space, uint64_t from, uint64_t to)
{
    struct msg_space_areas *head = heap_alloc(MSG_MAX);
    const struct msg_space_area *areas;
    uint64_t at = 0;
    int64_t left = 0;

    if (head == NULL)
        return -ENOMEM;
    areas = (const struct msg_space_area *)(head + 1);
    do {
        int length = space_areas_of(space->id, space->home, at, head);
        uint64_t count = length < 0 ? 0 : ((uint64_t)length - sizeof(*head)) / sizeof(*areas);

        if (length < 0)
            left = length;
        for (uint64_t i = 0; i < count && left >= 0; i++) {
            int64_t more = 0;

            if (areas[i].backing == BACKING_NONE || !backing_stays(areas[i].backing))
                more = migrate_area(space, areas[i].start, areas[i].end, from, to);
            left = more < 0 ? more : left + more;
        }
        at = length >= 0 && head->next > at ? head->next : 0;
    } while (at != 0 && left >= 0);
    heap_free(head, MSG_MAX);
    return left;
}

static int64_t reach_in(struct space *space, const struct msg_reach *asked, void *bytes)
{
    switch (asked->operation) {
    case REACH_READ:
    case REACH_WRITE:
        return space_access(space, asked->address, bytes, asked->size, asked->operation == REACH_WRITE);
    case REACH_NODE:
        return space_page_node(space, asked->address);
    case REACH_MOVE:
        return space_page_move(space, asked->address, asked->nodes);
    case REACH_COUNT:
        return count_pages(space, asked->address, asked->size & ~(PAGE_SIZE - 1));
    case REACH_MIGRATE:
        return asked->nodes != 0 ? migrate(space, asked->size, asked->nodes) : -EPROTO;
    default:
        return -EPROTO;
    }
}

/* PROGRAM: 0: any. */
static bool runs(struct group *group, uint64_t program)
{
    uint64_t now;

    spin_lock(&group->lock);
    now = group->process->program_ns;
    spin_unlock(&group->lock);
    return program == 0 || program == now;
}

static int64_t reach_here(const struct msg_reach *asked, void *bytes)
{
    struct group *group = group_find(asked->process);
    struct group *host;
    int64_t value = -ESRCH;

    if (group != NULL && group->process != NULL && group_lodge(group, &host) == 0) {
        if (runs(group, asked->program)) /* from here on nothing can exec */
            value = reach_in(host->space, asked, bytes);
        group_leave(host);
    }
    if (group != NULL)
        group_put(group);
    return value;
}

/* --- for others --- */

struct reach_work {
    struct work work;
    struct msg_kept kept;
    struct msg_reach asked;
    uint64_t pad; /* the answer begins at a multiple of 8 */
    struct msg_reached answer;
    uint8_t bytes[REACH_MAX];
};

static void reach_done(struct msg_kept *kept)
{
    struct reach_work *w = container_of(kept, struct reach_work, kept);

    heap_free(w, sizeof(*w));
}

static void run_reach(struct work *work)
{
    struct reach_work *w = container_of(work, struct reach_work, work);
    uint32_t length = sizeof(w->answer);

    w->answer.value = reach_here(&w->asked, w->bytes);
    if (w->asked.operation == REACH_READ && w->answer.value > 0)
        length += (uint32_t)w->answer.value;
    msg_kept_reply_long(&w->kept, &w->answer, length, reach_done);
}

static bool is_valid(const struct msg_reach *asked, uint64_t bytes)
{
    bool copies = asked->operation == REACH_READ || asked->operation == REACH_WRITE;

    return (!copies || asked->size <= REACH_MAX) && bytes == (asked->operation == REACH_WRITE ? asked->size : 0);
}

static void handle_reach(const struct msg *m)
{
    const struct msg_reach *asked = m->data;
    uint64_t bytes = m->length - sizeof(*asked);
    bool valid = is_valid(asked, bytes);
    struct reach_work *w = valid ? heap_alloc(sizeof(*w)) : NULL;

    if (w == NULL) {
        msg_reply_error(&m->ticket, valid ? -ENOMEM : -EPROTO);
        return;
    }
    w->asked = *asked;
    memcpy(w->bytes, asked + 1, bytes);
    w->work.run = run_reach;
    msg_keep(m, &w->kept, NULL);
    work_submit(&w->work);
}

static int64_t reach_there(uint32_t home, const struct msg_reach *asked, void *bytes)
{
    uint64_t size = sizeof(*asked) + asked->size;
    struct msg_reached *answer;
    struct msg_reach *message;
    int64_t value = -ENOMEM;
    uint8_t *memory;
    int length;

    if (asked->operation != REACH_READ && asked->operation != REACH_WRITE)
        size = sizeof(*asked) + sizeof(*answer);
    memory = heap_alloc(size);
    if (memory == NULL)
        return -ENOMEM;
    message = (struct msg_reach *)(void *)memory; /* the answer comes to the same place */
    *message = *asked;
    if (asked->operation == REACH_WRITE)
        memcpy(message + 1, bytes, asked->size);
    length = msg_call(home, MSG_REACH, message,
                      (uint32_t)(sizeof(*message) + (asked->operation == REACH_WRITE ? asked->size : 0)), memory,
                      (uint32_t)size, "memory of a process", asked->process);
    answer = (struct msg_reached *)(void *)memory;
    if (length >= (int)sizeof(*answer))
        value = answer->value;
    else
        value = length == -EAGAIN || length >= 0 ? -ESRCH : length;
    if (value > 0 && asked->operation == REACH_READ &&
        ((uint64_t)value > asked->size || (uint64_t)length - sizeof(*answer) < (uint64_t)value))
        value = -EPROTO;
    if (value > 0 && asked->operation == REACH_READ)
        memcpy(bytes, answer + 1, (uint64_t)value);
    heap_free(memory, size);
    return value;
}

int64_t reach(const struct msg_reach *asked, void *bytes)
{
    struct group *own = thread_current()->group;
    uint32_t home = process_home(asked->process);

    if (asked->process == own->id)
        return reach_in(group_space(own), asked, bytes);
    if (home >= instance.kernels)
        return -ESRCH;
    return home == instance.kernel ? reach_here(asked, bytes) : reach_there(home, asked, bytes);
}

void reach_init(void)
{
    msg_register(MSG_REACH, handle_reach, sizeof(struct msg_reach), sizeof(struct msg_reached));
}
