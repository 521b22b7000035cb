/* Memory of any process. See the header. A worker at the process's home pins the address space (group_pin), so it stays
 * during the request. Pages that other kernels have are fetched as by a fault on the home. */
#include "kernel/process/reach.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/change/change.h"
#include "mm/frame/heap.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/move/move.h"
#include "mm/retrieve/areas.h"
#include "mm/retrieve/wire.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "mm/user/access.h"
#include "msg/channel.h"
#include "msg/slice.h"
#include "tasks/process/group.h"
#include "tasks/process/process.h"
#include "tasks/remote/operation.h"
#include "tasks/sched/sched.h"

#define WINDOW 32u         /* pages that are looked up at a time */
#define WINDOWS_A_TURN 64u /* windows between two pauses: an area may be most of the address space */

/* --- on the home of the process --- */

void reach_pause(uint64_t done)
{
    if (done / (WINDOW * PAGE_SIZE) % WINDOWS_A_TURN == WINDOWS_A_TURN - 1)
        sched_yield();
    slice_check(); /* at the home the lookups never wait, so messages are not taken otherwise */
}

uint64_t reach_stop(uint64_t at, uint64_t end)
{
    uint64_t stop = (at & ~(REACH_PAGES * PAGE_SIZE - 1)) + REACH_PAGES * PAGE_SIZE;

    return stop < end ? stop : end;
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

/* migrate_pages: pages on the nodes FROM are to go to those of TO. */
struct migrating {
    uint64_t from, to;
    int64_t left; /* pages that could not be moved */
};

static uint64_t migrate_wanted(void *context, uint64_t page, uint32_t node)
{
    const struct migrating *migrating = context;

    (void)page;
    if ((migrating->from >> node & 1) == 0)
        return 0;
    /* As Linux: if the sets have different sizes, a page that is on a node of the new set already stays. */
    if (kernel_set_count(migrating->from) != kernel_set_count(migrating->to) && (migrating->to >> node & 1) != 0)
        return 0;
    return 1ull << mempolicy_remap(node, migrating->from, migrating->to);
}

static void migrate_done(void *context, uint64_t page, int result)
{
    struct migrating *migrating = context;

    (void)page;
    migrating->left += result < 0 && result != -EFAULT && result != -ENOENT ? 1 : 0;
}

/* Why a migration of GROUP's pages, which keeps the process from ending, is to stop: a negative errno, or 0. GROUP is
 * NULL if it is not on this kernel. */
static int migrate_stops(const struct group *group)
{
    if (thread_dying(thread_current()))
        return -EINTR; /* the thread dies, so no program sees this */
    return group_exiting(group) ? -ESRCH : 0;
}

static int64_t migrate_area(struct space *space, const struct group *group, uint64_t start, uint64_t end, uint64_t from,
                            uint64_t to)
{
    struct migrating migrating = {from, to, 0};
    struct space_moves moves = {.wanted = migrate_wanted, .done = migrate_done, .context = &migrating};

    for (uint64_t at = start; (at = space_move_next(space, at, end)) < end; at = reach_stop(at, end)) {
        int error;

        space_move(space, at, reach_stop(at, end), &moves);
        reach_pause(at - start);
        error = migrate_stops(group);
        if (error != 0)
            return error;
    }
    return migrating.left;
}

static int64_t migrate(struct space *space, const struct group *group, uint64_t from, uint64_t to)
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
            int64_t more = migrate_area(space, group, areas[i].start, areas[i].end, from, to);

            left = more < 0 ? more : left + more;
        }
        at = length >= 0 && head->next > at ? head->next : 0;
    } while (at != 0 && left >= 0);
    heap_free(head, MSG_MAX);
    return left;
}

/* --- the operations --- */

static int64_t do_read(struct space *space, const void *asked, void *result)
{
    const struct msg_reach *range = asked;

    return space_access(space, range->address, result, range->size, false);
}

static int64_t do_write(struct space *space, const void *asked, void *result)
{
    const struct msg_reach *range = asked;

    (void)result;
    return space_access(space, range->address, (void *)(uintptr_t)(range + 1), range->size, true);
}

static int64_t do_node(struct space *space, const void *asked, void *result)
{
    const struct msg_reach_node *node = asked;
    struct space_pages list;
    int error;

    if (!space_pages_set(&list, (const uint64_t *)(node + 1), node->runs) || list.pages != node->pages)
        return -EPROTO;
    error = list.runs != 0 ? space_where(space, &list, result) : 0;
    return error != 0 ? error : (int64_t)list.pages;
}

/* REACH_MOVE under way. */
struct placing {
    uint64_t start;
    const uint8_t *node;
    int32_t *status;
};

static uint64_t placing_wanted(void *context, uint64_t page, uint32_t node)
{
    const struct placing *placing = context;
    uint32_t wanted = placing->node[(page - placing->start) / PAGE_SIZE];

    (void)node;
    return wanted < NODES_MAX ? 1ull << wanted : 0;
}

static void placing_done(void *context, uint64_t page, int result)
{
    const struct placing *placing = context;

    placing->status[(page - placing->start) / PAGE_SIZE] = result;
}

static int64_t do_move(struct space *space, const void *asked, void *result)
{
    const struct reach_pages *pages = asked;
    uint64_t start = pages->ask.address & ~(PAGE_SIZE - 1), end = start + pages->ask.count * PAGE_SIZE;
    struct placing placing = {start, pages->node, result};
    struct space_moves moves = {
        .wanted = placing_wanted, .done = placing_done, .context = &placing, .all = pages->ask.all != 0};
    uint64_t stop = start >= USER_END ? start : end < USER_END ? end : USER_END;

    space_move(space, start, stop, &moves);
    for (uint64_t page = stop; page != end; page += PAGE_SIZE) /* END may have wrapped around */
        placing_done(&placing, page, -EFAULT);
    return (int64_t)(pages->ask.count * sizeof(placing.status[0]));
}

static int64_t do_count(struct space *space, const void *asked, void *result)
{
    const struct msg_reach *range = asked;

    (void)result;
    return count_pages(space, range->address, range->size & ~(PAGE_SIZE - 1));
}

static int64_t do_migrate(struct space *space, const void *asked, void *result)
{
    const struct msg_reach_migrate *nodes = asked;
    struct group *group;
    int64_t left;

    (void)result;
    if (nodes->to == 0)
        return -EPROTO;
    group = group_find(nodes->target.process);
    left = migrate(space, group, nodes->from, nodes->to);
    if (group != NULL)
        group_put(group);
    return left;
}

/* By message type from MSG_REACH_READ on. Each returns a value or a negative errno; do_read, do_node and do_move return
 * how many bytes they have stored at RESULT. */
static int64_t (*const operations[])(struct space *space, const void *asked,
                                     void *result) = {do_read, do_write, do_node, do_move, do_count, do_migrate};

/* Whether TYPE is answered with bytes of which the requester knows the number, and not with a value. */
static bool answers_bytes(enum msg_type type)
{
    return type == MSG_REACH_READ || type == MSG_REACH_NODE || type == MSG_REACH_MOVE;
}

/* Returns whether GROUP runs PROGRAM (program_ns); 0 stands for any program. */
static bool runs(struct group *group, uint64_t program)
{
    uint64_t now;

    spin_lock(&group->lock);
    now = group->process->program_ns;
    spin_unlock(&group->lock);
    return program == 0 || program == now;
}

static int run(const struct remote_request *request, void *result)
{
    const struct reach_target *target = request->data;
    struct group *group = group_find(target->process);
    struct group *host;
    int64_t value = -ESRCH;

    if (group != NULL && group->process != NULL && group_pin(group, &host) == 0) {
        if (runs(group, target->program)) /* checked under the pin, which exec waits for */
            value = operations[request->type - MSG_REACH_READ](host->space, request->data, result);
        group_unpin(host);
    }
    if (group != NULL)
        group_put(group);
    if (value < 0 || answers_bytes(request->type))
        return (int)value;
    *(struct msg_reached *)result = (struct msg_reached){value};
    return sizeof(struct msg_reached);
}

static int copy_room(const struct remote_request *request)
{
    const struct msg_reach *asked = request->data;
    bool write = request->type == MSG_REACH_WRITE;

    if (asked->size > REACH_MAX || request->length != sizeof(*asked) + (write ? asked->size : 0))
        return -EPROTO;
    return write ? (int)sizeof(struct msg_reached) : (int)asked->size;
}

static int node_room(const struct remote_request *request)
{
    const struct msg_reach_node *asked = request->data;

    if (asked->runs > SPACE_ASK_RUNS || asked->pages > SPACE_ASK_PAGES ||
        request->length != sizeof(*asked) + asked->runs * sizeof(uint64_t))
        return -EPROTO;
    return (int)asked->pages;
}

static int move_room(const struct remote_request *request)
{
    const struct msg_reach_move *asked = request->data;

    if (asked->count == 0 || asked->count > REACH_PAGES || request->length != sizeof(*asked) + asked->count)
        return -EPROTO;
    return (int)(asked->count * sizeof(int32_t));
}

/* --- on the kernel of the caller --- */

/* Performs the request of LENGTH bytes at ASKED, which begins with a struct reach_target, on its process's home. BYTES
 * has ROOM bytes for the result, if answers_bytes. A process reaches its own memory without its home. */
static int64_t reach(enum msg_type type, const void *asked, uint32_t length, void *bytes, uint32_t room)
{
    uint32_t process = ((const struct reach_target *)asked)->process, home = process_home(process);
    const struct remote_how how = {.why = "memory of a process", .key = process};
    struct group *own = thread_current()->group;
    struct msg_reached reached = {0};
    int got;

    if (process == own->id)
        return operations[type - MSG_REACH_READ](group_space(own), asked, bytes);
    if (home >= instance.kernels)
        return -ESRCH;
    if (answers_bytes(type))
        return remote_call(home, type, asked, length, bytes, room, &how);
    got = remote_call(home, type, asked, length, &reached, sizeof(reached), &how);
    return got < 0 ? got : reached.value;
}

int64_t reach_read(const struct msg_reach *asked, void *bytes)
{
    return reach(MSG_REACH_READ, asked, sizeof(*asked), bytes, (uint32_t)asked->size);
}

int64_t reach_write(const struct msg_reach *asked, const void *bytes)
{
    uint32_t size = (uint32_t)(sizeof(*asked) + asked->size);
    struct msg_reach *message = heap_alloc_unset(size);
    int64_t value;

    if (message == NULL)
        return -ENOMEM;
    *message = *asked;
    memcpy(message + 1, bytes, asked->size);
    value = reach(MSG_REACH_WRITE, message, size, NULL, 0);
    heap_free(message, size);
    return value;
}

int reach_where(uint32_t process, const struct space_pages *list, uint8_t *where)
{
    struct {
        struct msg_reach_node head;
        uint64_t run[SPACE_ASK_RUNS];
    } asked = {{{.process = process}, list->runs, list->pages}, {0}};
    uint32_t bytes = list->runs * (uint32_t)sizeof(list->run[0]);
    struct group *own = thread_current()->group;
    int64_t got;

    if (process == own->id)
        return space_where(group_space(own), list, where);
    memcpy(asked.run, list->run, bytes);
    got = reach(MSG_REACH_NODE, &asked, (uint32_t)sizeof(asked.head) + bytes, where, list->pages);
    if (got >= 0 && (got != list->pages || !space_where_valid(where, list->pages)))
        got = -EPROTO;
    return got < 0 ? (int)got : 0;
}

int reach_exists(uint32_t process)
{
    struct msg_reach_node asked = {.target = {.process = process}};
    int64_t got = reach(MSG_REACH_NODE, &asked, sizeof(asked), NULL, 0);

    return got < 0 ? (int)got : 0;
}

int64_t reach_move(const struct reach_pages *pages, int32_t *status)
{
    uint32_t bytes = pages->ask.count * (uint32_t)sizeof(*status);
    int64_t got = reach(MSG_REACH_MOVE, pages, (uint32_t)sizeof(pages->ask) + pages->ask.count, status, bytes);

    return got < 0 ? got : got == bytes ? 0 : -EPROTO;
}

int64_t reach_count(uint32_t process, uint64_t start, uint64_t size)
{
    struct msg_reach asked = {{.process = process}, start, size};

    return reach(MSG_REACH_COUNT, &asked, sizeof(asked), NULL, 0);
}

int64_t reach_migrate(uint32_t process, uint64_t from, uint64_t to)
{
    struct msg_reach_migrate asked = {{.process = process}, from, to};

    return reach(MSG_REACH_MIGRATE, &asked, sizeof(asked), NULL, 0);
}

void reach_init(void)
{
    REMOTE_SERVE_TASK(REACH_READ, WORK_LOCKS, run, copy_room, struct msg_reach, struct msg_none);
    REMOTE_SERVE_TASK(REACH_WRITE, WORK_LOCKS, run, copy_room, struct msg_reach, struct msg_reached);
    REMOTE_SERVE_TASK(REACH_NODE, WORK_LOCKS, run, node_room, struct msg_reach_node, struct msg_none);
    REMOTE_SERVE_TASK(REACH_MOVE, WORK_LOCKS, run, move_room, struct msg_reach_move, struct msg_reach_statuses);
    REMOTE_SERVE_TASK(REACH_COUNT, WORK_LOCKS, run, NULL, struct msg_reach, struct msg_reached);
    REMOTE_SERVE_TASK(REACH_MIGRATE, WORK_LOCKS, run, NULL, struct msg_reach_migrate, struct msg_reached);
}
