/* The death of a kernel: groups. See the header.
 *
 * A group at home here that had a member there, or maps frames of it, ends as by a signal, in the usual two rounds; to
 * both the dead member's answer is an error. A group at home there is an orphan: nobody sends KILL and FREE. So each
 * kernel ends its threads by itself, and frees its memory when the coordinator has found that none of them is left on
 * any kernel: until then, another kernel may map the frames. */
#include "tasks/exit/lost.h"

#include "kernel/abi/errno.h"
#include "kernel/abi/signal.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/log.h"
#include "mm/evacuate/lost.h"
#include "mm/file/move.h"
#include "mm/life/life.h"
#include "mm/space/space.h"
#include "msg/slice.h"
#include "tasks/family/children.h"
#include "tasks/futex/futex.h"
#include "tasks/kill/kill.h"
#include "tasks/process/process.h"
#include "tasks/remote/notify.h"
#include "tasks/role/adopted.h"
#include "tasks/sharers/sharers.h"

struct losing {
    uint32_t kernel;
    uint64_t left;
};

/* Whether GROUP has an address space here, which it keeps during the call: *SPACE, held; else NULL. */
static struct space *space_of(struct group *group)
{
    struct space *space;

    spin_lock(&group->lock);
    space = group->space;
    if (space != NULL)
        space_hold(space);
    spin_unlock(&group->lock);
    return space;
}

/* Whether a kernel has died that had a part of the memory of GROUP: noted by the round of an end, or told by KILL. */
static bool is_lost(struct group *group)
{
    bool lost;

    spin_lock(&group->lock);
    lost = __atomic_load_n(group->pinned != NULL ? &group->pinned->lost : &group->lost, __ATOMIC_ACQUIRE);
    spin_unlock(&group->lock);
    return lost;
}

/* The status with which GROUP, which is not an orphan, ends; 0: it does not. */
static uint32_t status_for(struct group *group, uint32_t kernel)
{
    struct space *space = space_of(group);
    uint32_t status = 0;

    if (space == NULL)
        return 0;
    if (lost_member_of(space, kernel) || is_lost(group))
        status = group->home == instance.kernel ? EXIT_SIGNAL(SIGKILL) : 0; /* else its home ends it */
    else if (!lost_frames_known(space) && lost_frame_of(space, kernel))
        status = EXIT_SIGNAL(SIGBUS);
    space_put(space);
    return status;
}

static uint64_t end_orphan(struct group *group)
{
    uint64_t count;

    spin_lock(&group->lock);
    __atomic_store_n(&group->exiting, true, __ATOMIC_SEQ_CST);
    spin_unlock(&group->lock);
    kill_threads(group);
    spin_lock(&group->lock);
    count = group->count + group->pins;
    spin_unlock(&group->lock);
    return count;
}

/* GROUP, which has its own memory, may have had a part on KERNEL: threads, perhaps, also if it ends already. */
static void note_lost(struct group *group, uint32_t kernel)
{
    struct space *space = space_of(group);

    if (space == NULL)
        return;
    if (lost_member_of(space, kernel) || (group->parts >> kernel & 1) != 0)
        __atomic_store_n(&group->lost, true, __ATOMIC_RELEASE);
    space_put(space);
    if (group->process != NULL)
        group_pins_away(group, kernel, GROUP_PINS_LOST);
}

static bool end_group(struct group *group, void *context)
{
    struct losing *losing = context;
    uint32_t status;

    slice_check();
    if (group->home == losing->kernel) {
        losing->left += end_orphan(group);
        return true;
    }
    if (group->pinned == NULL)
        note_lost(group, losing->kernel);
    if (group_exiting(group))
        return true;
    status = status_for(group, losing->kernel);
    if (status == 0)
        return true;
    log_line("tasks: process %u is ended by signal %u: kernel %u has died, and had %s of it", group->id, status,
             losing->kernel, status == EXIT_SIGNAL(SIGBUS) ? "pages" : "a part");
    if (exit_group_from(group, status) != 0)
        losing->left++; /* no memory to tell its home: the next time */
    return true;
}

static void end_sharer(struct group *group)
{
    log_line("tasks: process %u is ended by signal %u: memory that it shares was moving", group->id, SIGBUS);
    if (exit_group_from(group, EXIT_SIGNAL(SIGBUS)) != 0)
        log_line("tasks: no memory to end process %u, which has lost memory that it shares", group->id);
}

int64_t lost_end(uint32_t kernel)
{
    struct losing losing = {.kernel = kernel};

    group_each(end_group, &losing);
    lost_forget(kernel);
    children_lost(kernel);
    futex_lost(kernel);
    sharers_lost(kernel, end_sharer);
    file_move_lost(kernel);
    remote_wait_lost(kernel);
    return (int64_t)losing.left;
}

int lost_children(kernel_set lost)
{
    for (kernel_set rest = lost; rest != 0; rest &= rest - 1)
        children_lost((uint32_t)__builtin_ctzll(rest));
    return children_lost_waits(lost);
}

static bool free_orphan(struct group *group, void *context)
{
    const struct losing *losing = context;
    struct space *space = NULL;

    slice_check();
    if (group->home != losing->kernel)
        return true;
    spin_lock(&group->lock);
    if (!group->freeing && group->count == 0 && group->pins == 0) {
        space = group->space;
        group->space = NULL;
        group->freeing = true;
    }
    spin_unlock(&group->lock);
    if (space == NULL)
        return true;
    space_destroy(space);
    adopted_forget_group(group->id);
    group_forget(group);
    return true;
}

void lost_free(uint32_t kernel)
{
    struct losing losing = {.kernel = kernel};

    group_each(free_orphan, &losing);
}

static bool take_pages(struct group *group, void *context)
{
    struct losing *losing = context;
    struct space *space = space_of(group);

    if (space == NULL)
        return true;
    if (lost_take_frames(space, losing->kernel) != 0) {
        log_line(
            "tasks: process %u is ended by signal %u: kernel %u has died, and there is no memory to note its pages",
            group->id, SIGBUS, losing->kernel);
        exit_group_from(group, EXIT_SIGNAL(SIGBUS));
        losing->left++;
    }
    space_put(space);
    return true;
}

uint64_t lost_pages(uint32_t kernel)
{
    struct losing losing = {.kernel = kernel};

    group_each(take_pages, &losing);
    return losing.left;
}

static bool count_left(struct group *group, void *context)
{
    struct losing *losing = context;

    slice_check();
    losing->left += group->home == losing->kernel || status_for(group, losing->kernel) != 0;
    return true;
}

uint64_t lost_left(uint32_t kernel)
{
    struct losing losing = {.kernel = kernel};

    group_each(count_left, &losing);
    return losing.left;
}
