/* What the rooms of tasks/ need before programs run. See the header. */
#include "tasks/tasks.h"

#include "mm/frame/refuse.h"
#include "tasks/account/facts.h"
#include "tasks/account/usage.h"
#include "tasks/balance/balance.h"
#include "tasks/exit/exit.h"
#include "tasks/family/children.h"
#include "tasks/family/set.h"
#include "tasks/freeze/freeze.h"
#include "tasks/futex/futex.h"
#include "tasks/handover/handover.h"
#include "tasks/kill/kill.h"
#include "tasks/locate/locate.h"
#include "tasks/migrate/migrate.h"
#include "tasks/numa/numa.h"
#include "tasks/oom/oom.h"
#include "tasks/process/process.h"
#include "tasks/process/stop.h"
#include "tasks/remote/notify.h"
#include "tasks/remote/watch.h"
#include "tasks/remote/work.h"
#include "tasks/role/adopted.h"
#include "tasks/role/role.h"
#include "tasks/sched/sched.h"
#include "tasks/sharers/sharers.h"
#include "tasks/signal/signal.h"
#include "tasks/thread/thread.h"
#include "tasks/timer/process/process_timer.h"
#include "tasks/timer/timer.h"

void tasks_init_tables(void)
{
    role_init();
    thread_init();
    adopted_init();
    freeze_init();
    sched_init_cpu();
}

/* Whether no allocation is to be refused now: the current task is a thread of a program of root's, or no thread of a
 * program has asked for memory here yet. */
static bool is_spared(void)
{
    static bool begun;
    const struct thread *thread = thread_current();

    if (thread == NULL || thread->group == NULL)
        return !begun;
    begun = true;
    return thread->context.credentials.euid == 0;
}

void tasks_init(void)
{
    refuse_init(is_spared);
    group_init();
    process_init();
    stop_init();
    kill_init();
    signal_init();
    children_init();
    process_set_init();
    locate_init();
    usage_init();
    facts_init();
    process_timer_init();
    exit_init();
    migrate_init();
    work_init();
    timer_start();
    watch_start();
    remote_notify_init();
    balance_init();
    numa_init();
    sharers_init();
    futex_init();
    handover_init();
    oom_init();
}
