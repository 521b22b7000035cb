/* The audit of one address space. It gathers the areas of every kernel that hosts the space, then the pages, a
 * window of addresses at a time, and passes them to the rules in mm/audit/check.c. See mm/audit/audit.h and
 * mm/audit/audit.md. */
#include "mm/audit/audit.h"

#include "kernel/abi/errno.h"
#include "kernel/lib/string.h"
#include "mm/audit/check.h"
#include "mm/audit/internal.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"
#include "mm/frame/reference.h"
#include "mm/frame/wire.h"
#include "mm/lease/lease.h"
#include "mm/life/life.h"
#include "mm/lock/lock.h"
#include "mm/space/question.h"
#include "mm/space/wire.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "msg/slice.h"

#define AREAS_MAX (AUDIT_PART / sizeof(struct msg_space_area))

struct gathering {
    struct audit_check check;
    kernel_set members;
    struct msg_space_area home_areas[AREAS_MAX];
    uint64_t part[AUDIT_PART / sizeof(uint64_t)];  /* the reply being processed */
    uint64_t marks[AUDIT_PART / sizeof(uint64_t)]; /* a reply of the home about its directory */
};

/* Returns the owner of FRAME if it runs, or KERNELS_MAX: the memory of a stopped kernel is not in use. */
static uint32_t owner_that_runs(uint64_t frame)
{
    uint32_t owner = frame_owner(frame);

    return owner == instance.kernel || msg_peer_reachable(owner) ? owner : KERNELS_MAX;
}

/* Returns how many spaces the owner of FRAME counts for it; 0 if the owner does not know the frame or cannot be
 * asked. */
static uint32_t spaces_of(uint64_t frame)
{
    uint32_t owner = frame_owner(frame);
    struct msg_frame ask = {frame};
    struct msg_frame_spaces answer;

    if (owner == instance.kernel)
        return frame_spaces(frame);
    if (owner == KERNELS_MAX || msg_call(owner, MSG_FRAME_SOLE, &ask, sizeof(ask), &answer, sizeof(answer),
                                         "count of a frame's spaces", frame) != (int)sizeof(answer))
        return 0;
    return (uint32_t)answer.spaces;
}

/* Fetches one reply of KERNEL into G->part, or into G->marks if WHAT are marks. *COUNT: the number of objects of SIZE
 * bytes that follow its head. */
static int view(struct gathering *g, uint32_t kernel, uint64_t start, uint64_t end, enum audit_what what, size_t size,
                uint32_t *count)
{
    struct msg_audit_view ask = {g->check.space, start, end, what};
    uint64_t *part = what == AUDIT_VIEW_MARKS ? g->marks : g->part;
    const struct msg_audit_viewed *head = (const struct msg_audit_viewed *)(const void *)part;
    int length;

    if (kernel == instance.kernel)
        length = (int)audit_view_here(&ask, (struct msg_audit_viewed *)(void *)part);
    else
        length = msg_call(kernel, MSG_AUDIT_VIEW, &ask, sizeof(ask), part, AUDIT_PART, "view of an audit", start);
    slice_check();
    if (length < 0)
        return length;
    *count = (uint32_t)(((size_t)length - sizeof(*head)) / size);
    return head->next > start && head->next <= end ? 0 : -EPROTO;
}

/* Fetches the home's areas from START on into G->home_areas. *END: the end of the range that they cover. */
static int home_areas(struct gathering *g, uint64_t start, uint64_t *end)
{
    const struct msg_audit_viewed *head = (const struct msg_audit_viewed *)(const void *)g->part;
    uint32_t count;
    int error = view(g, g->check.home, start, USER_END, AUDIT_VIEW_AREAS, sizeof(struct msg_space_area), &count);

    if (error != 0)
        return error;
    if (head->members == 0)
        return -ESRCH;
    g->members = head->members | 1ull << instance.kernel;
    *end = head->next;
    memcpy(g->home_areas, head + 1, count * sizeof(g->home_areas[0]));
    audit_check_home_areas(&g->check, g->home_areas, count, start, *end);
    return 0;
}

static kernel_set *marks_of(struct gathering *g)
{
    return (kernel_set *)((struct msg_audit_viewed *)(void *)g->marks + 1);
}

/* Checks that the directory of the home has KERNEL where it has AREA. */
static int area_marks(struct gathering *g, uint32_t kernel, const struct msg_space_area *area)
{
    const struct msg_audit_viewed *head = (const struct msg_audit_viewed *)(const void *)g->marks;
    uint64_t end;

    if (!g->check.home_knows || area->start >= area->end || area->end > USER_END)
        return 0; /* the second is a finding already */
    for (uint64_t start = area->start; start < area->end; start = end) {
        uint32_t count;
        int error = view(g, g->check.home, start & ~(SHARERS_PART - 1), area->end, AUDIT_VIEW_MARKS, sizeof(kernel_set),
                         &count);

        if (error != 0)
            return error;
        end = head->next < area->end ? head->next : area->end;
        audit_check_area_marks(&g->check, kernel, start, end, marks_of(g));
    }
    return 0;
}

/* Fetches the directory of the home for the window from START to END. */
static int window_marks(struct gathering *g, uint64_t start, uint64_t end)
{
    uint32_t count;
    int error;

    if (!g->check.home_knows || g->members == 1ull << g->check.home)
        return 0;
    error = view(g, g->check.home, start, end, AUDIT_VIEW_MARKS, sizeof(kernel_set), &count);
    if (error == 0 && (count * SHARERS_PART < end - start || count > AUDIT_MARKS))
        return -EPROTO;
    if (error == 0)
        memcpy(g->check.marks, marks_of(g), count * sizeof(kernel_set));
    return error;
}

static int member_areas(struct gathering *g, uint32_t kernel, uint64_t start, uint64_t end)
{
    const struct msg_audit_viewed *head = (const struct msg_audit_viewed *)(const void *)g->part;
    const struct msg_space_area *areas = (const struct msg_space_area *)(const void *)(head + 1);

    while (start < end) {
        uint32_t count;
        int error = view(g, kernel, start, end, AUDIT_VIEW_AREAS, sizeof(struct msg_space_area), &count);

        if (error != 0)
            return error;
        audit_check_areas(&g->check, kernel, areas, count, start, head->next);
        start = head->next;
        for (uint32_t i = 0; i < count && error == 0; i++)
            error = area_marks(g, kernel, &areas[i]);
        if (error != 0)
            return error;
    }
    return 0;
}

/* The home's areas are fetched first: meanwhile it may add areas where no kernel has any, without a lock, but removes
 * none. */
static int all_areas(struct gathering *g)
{
    uint64_t start = 0, end = 0;
    int error = 0;

    for (; start < USER_END && error == 0; start = end) {
        error = home_areas(g, start, &end);
        for (kernel_set rest = g->members & ~(1ull << g->check.home); rest != 0 && error == 0; rest &= rest - 1)
            error = member_areas(g, (uint32_t)__builtin_ctzll(rest), start, end);
        slice_check();
    }
    return error;
}

/* Checks KERNEL's pages in the window from START on. Lowers *BEYOND to the next address where KERNEL has a page
 * table. */
static int member_pages(struct gathering *g, uint32_t kernel, uint64_t start, uint64_t end, uint64_t *beyond)
{
    const struct msg_audit_viewed *head = (const struct msg_audit_viewed *)(const void *)g->part;
    const struct audit_run *runs = (const struct audit_run *)(const void *)(head + 1);

    while (start < end) {
        uint32_t count;
        int error = view(g, kernel, start, end, AUDIT_VIEW_PAGES, sizeof(*runs), &count);

        if (error != 0)
            return error;
        for (uint32_t i = 0; i < count; i++)
            audit_check_run(&g->check, kernel, &runs[i]);
        slice_check();
        start = head->next;
        if (start == end && head->beyond < *beyond)
            *beyond = head->beyond;
    }
    return 0;
}

static int all_pages(struct gathering *g)
{
    uint64_t size = AUDIT_PAGES * PAGE_SIZE, beyond;
    int error = 0;

    for (uint64_t base = 0; base < USER_END && error == 0; base = beyond & ~(size - 1)) {
        uint64_t end = base + size < USER_END ? base + size : USER_END;

        beyond = UINT64_MAX;
        audit_check_begin(&g->check, base);
        error = window_marks(g, base, end);
        for (kernel_set rest = g->members; rest != 0 && error == 0; rest &= rest - 1)
            error = member_pages(g, (uint32_t)__builtin_ctzll(rest), base, end, &beyond);
        if (error == 0 && beyond < end)
            error = -EPROTO;
        if (error == 0)
            audit_check_end(&g->check);
        slice_check();
    }
    return error;
}

int audit_space(struct space *space, bool still, struct audit_report *report)
{
    struct gathering *g = heap_alloc(sizeof(*g));
    struct space_lock lock;
    int error = g == NULL ? -ENOMEM
                : still   ? lease_await(space, (struct space_range){0, USER_END})
                          : space_acquire(space, SPACE_HEAVY, &lock);

    if (error > 0)
        error = 0;

    if (error == 0 && !still)
        space_gets_await(space, SPACE_HEAVY);
    if (error == 0) {
        g->check.report = report;
        g->check.space = space->id;
        g->check.home = space->home;
        g->check.home_knows = space->retrieval->home_knows;
        g->check.owner = owner_that_runs;
        g->check.spaces = spaces_of;
        report->counts.spaces++;
        error = all_areas(g);
        if (error == 0)
            error = all_pages(g);
        if (!still)
            space_release(space, &lock);
    }
    heap_free(g, sizeof(*g));
    return error;
}

/* Checks that the home of SPACE knows this kernel as a member. */
static int look_for_home(const struct space *space, struct audit_report *report)
{
    struct msg_audit_view ask = {.space = space->id, .what = AUDIT_VIEW_AREAS};
    struct {
        struct msg_audit_viewed head;
        struct msg_space_area none;
    } answer;
    int length = msg_call(space->home, MSG_AUDIT_VIEW, &ask, sizeof(ask), &answer, sizeof(answer), "home of a space",
                          space->id);

    if (length < 0)
        return length;
    if ((answer.head.members >> instance.kernel & 1) == 0)
        audit_violation(report, AUDIT_SPACE, "space %lu is on kernel %u, and its home %u knows of kernels %lx",
                        (unsigned long)space->id, instance.kernel, space->home, (unsigned long)answer.head.members);
    return 0;
}

int audit_kernel(struct audit_report *report)
{
    struct space *space;
    uint64_t found = 0;
    int error = 0;

    for (uint64_t id = 0; error == 0 && (space = space_next(id)) != NULL; found++) {
        id = space->id + 1;
        error = space->home == instance.kernel ? audit_space(space, true, report) : look_for_home(space, report);
        space_put(space);
    }
    if (error == 0 && found != space_count())
        audit_violation(report, AUDIT_SPACE, "kernel %u has %lu spaces, and messages find %lu", instance.kernel,
                        (unsigned long)space_count(), (unsigned long)found);
    if (error == 0) {
        audit_tables(report);
        error = audit_frames(report);
    }
    return error;
}

void audit_init(void)
{
    audit_view_init();
}
