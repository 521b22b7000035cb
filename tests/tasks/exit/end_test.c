/* The end of a group here, at home and on a member: nobody finds its memory in it while that is destroyed.
 * sources: tasks/exit/exit.c */
#include "tasks/exit/exit.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/log.h"
#include "mm/change/again.h"
#include "mm/life/life.h"
#include "mm/space/space.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "tasks/exit/internal.h"
#include "tasks/family/end.h"
#include "tasks/futex/futex.h"
#include "tasks/kill/kill.h"
#include "tasks/process/process.h"
#include "tasks/remote/work.h"
#include "tasks/role/adopted.h"
#include "tasks/timer/process/alarm.h"
#include "tasks/timer/process/process_timer.h"
#include "tests/stand_in/panic.h"
#include "tests/test.h"

#define HERE 1u
#define HOME 2u

struct instance instance = {.kernel = HERE, .kernels = 4};
struct group_hooks group_hooks;
bool (*space_outlives_task)(void);
static struct space space;
static struct process process;
static struct group group;
static msg_handler handle_kill, handle_free;
static bool has_memory;    /* pages that the first round does not free */
static uint32_t destroyed; /* spaces */
static uint32_t forgotten; /* groups */
static uint32_t answers;   /* to kept requests */

void msg_register(enum msg_type type, msg_handler handler, uint32_t size, uint32_t reply_size)
{
    (void)size;
    (void)reply_size;
    if (type == MSG_GROUP_KILL)
        handle_kill = handler;
    else if (type == MSG_GROUP_FREE)
        handle_free = handler;
}

void space_destroy(struct space *of)
{
    CHECK(of == &space && destroyed == 0 && forgotten == 0);
    CHECK(group.space == NULL && !spin_held(&group.lock)); /* it waits, and others look for the group meanwhile */
    destroyed++;
}

bool space_retire_empty(struct space *of)
{
    CHECK(of == &space);
    return !has_memory;
}

void group_forget(struct group *of)
{
    CHECK(of == &group && destroyed == 1);
    forgotten++;
}

struct group *group_find(uint32_t id)
{
    return id == group.id ? &group : NULL;
}

void work_submit(struct work *work)
{
    work->run(work);
}

void msg_kept_reply(struct msg_kept *kept, const void *data, uint32_t length, void (*done)(struct msg_kept *kept))
{
    CHECK(kept == &group.kept && data != NULL && length != 0);
    (void)done;
    answers++;
}

void msg_reply_error(const struct msg_ticket *ticket, int error)
{
    (void)ticket;
    (void)error;
    CHECK(false);
}

static void ending(void)
{
}

/* --- not used here --- */

void adopted_forget_group(uint32_t id)
{
    (void)id;
}

void alarm_end(struct group *of)
{
    (void)of;
}

void completion_signal(struct completion *c)
{
    (void)c;
}

void completion_wait(struct completion *c, const struct wait_reason *reason)
{
    (void)c;
    (void)reason;
}

void exit_threads_init(void)
{
}

void futex_forget_all_robust(struct group *of)
{
    (void)of;
}

void futex_release_lost(struct group *of)
{
    (void)of;
}

bool group_has_pins_locked(const struct group *of)
{
    (void)of;
    return false;
}

void group_kept_done(struct msg_kept *kept)
{
    (void)kept;
}

kernel_set group_members_locked(struct group *of)
{
    (void)of;
    return 0;
}

void group_notify_killed(const struct group *of, struct msg_group_killed *killed)
{
    (void)of;
    *killed = (struct msg_group_killed){.pinned = 0};
}

void group_pins_away(struct group *of, uint32_t kernel, enum group_pins_news news)
{
    (void)of;
    (void)kernel;
    (void)news;
}

void group_put(struct group *of)
{
    (void)of;
}

void group_unpin(struct group *host)
{
    (void)host;
}

void kill_threads(struct group *of)
{
    (void)of;
}

void kill_threads_soon(struct group *of)
{
    (void)of;
}

void log_line(const char *format, ...)
{
    (void)format;
}

void msg_gather(kernel_set set, enum msg_type type, const void *data, uint32_t length, msg_answer each, void *context,
                const char *why, uint64_t key)
{
    (void)type;
    (void)data;
    (void)length;
    (void)each;
    (void)context;
    (void)why;
    (void)key;
    CHECK_EQ(set, 0);
}

void msg_keep(const struct msg *m, struct msg_kept *kept, void (*cancelled)(struct msg_kept *kept))
{
    (void)m;
    (void)kept;
    (void)cancelled;
}

bool msg_peer_fenced(uint32_t kernel)
{
    (void)kernel;
    return false;
}

kernel_set msg_peers_fenced(void)
{
    return 0;
}

void process_ended(struct group *of)
{
    (void)of;
}

void process_timers_end(struct group *of, bool all)
{
    (void)of;
    (void)all;
}

/* --- */

static void start(uint32_t home)
{
    process = (struct process){.group = &group};
    group = (struct group){.id = 7, .home = home, .space = &space, .process = home == HERE ? &process : NULL};
    group_hooks.ending = ending;
    destroyed = forgotten = answers = 0;
    exit_init();
}

static void kill_arrives(void)
{
    struct msg_group_kill kill = {.group = group.id};
    struct msg message = {.ticket.kernel = HOME, .data = &kill, .length = sizeof(kill)};

    handle_kill(&message);
}

static void free_arrives(void)
{
    struct msg_group of = {.group = group.id};
    struct msg message = {.ticket.kernel = HOME, .data = &of, .length = sizeof(of)};

    handle_free(&message);
}

TEST(member_space, "a member's memory is out of its group before it is destroyed, and that before the home hears of it")
{
    start(HOME);
    has_memory = true;
    kill_arrives();
    CHECK(answers == 1 && destroyed == 0 && group.space == &space);
    free_arrives();
    CHECK(answers == 2 && destroyed == 1 && forgotten == 1);
}

TEST(member_empty, "so is that of a member which never had a page, in the first round")
{
    start(HOME);
    has_memory = false;
    kill_arrives();
    CHECK(answers == 1 && destroyed == 1 && forgotten == 1);
}

TEST(home_space, "so is that of the home, whose process then ends")
{
    start(HERE);
    group.exiting = true;
    exit_run(&group.work);
    CHECK(destroyed == 1 && group.space == NULL);
}
