/* Who is asked to change a process's retrieval strategy. See the header. */
#include "kernel/process/retrieve.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/list.h"
#include "mm/frame/heap.h"
#include "mm/retrieve/strategy.h"
#include "msg/call.h"
#include "tasks/process/group.h"
#include "tasks/process/process.h"
#include "tasks/remote/work.h"
#include "tasks/thread/thread.h"

/* RETRIEVE */
struct msg_retrieve {
    int64_t process;
    uint64_t strategy; /* its place in the list of strategies */
};

/* A change that a worker of the home makes for a peer. */
struct retrieve_work {
    struct work work;
    struct msg_kept kept;
    struct msg_retrieve message;
};

static int retrieve_at(uint32_t home, int64_t process, uint32_t strategy)
{
    static const struct msg_policy policy = {.end = WAIT_KILLABLE};
    struct msg_retrieve message = {.process = process, .strategy = strategy};
    int length = msg_call_within(&policy, home, MSG_RETRIEVE, &message, sizeof(message), NULL, 0, "change of retrieval",
                                 (uint64_t)process);

    return length < 0 ? length : 0;
}

/* A child of vfork lodges in memory whose home may be another kernel. */
static int retrieve_here(int64_t process, uint32_t strategy)
{
    struct group *group = process > 0 && process <= INT32_MAX ? group_find((uint32_t)process) : NULL;
    struct group *host;
    int error = -ESRCH;

    if (group == NULL)
        return -ESRCH;
    if (group->process != NULL)
        error = group_lodge(group, &host);
    if (error == 0) {
        error = host->space->home == instance.kernel ? space_retrieve_switch(host->space, strategy)
                                                     : retrieve_at(host->space->home, host->id, strategy);
        group_leave(host);
    }
    group_put(group);
    return error;
}

static void answered(struct msg_kept *kept)
{
    struct retrieve_work *w = container_of(kept, struct retrieve_work, kept);

    heap_free(w, sizeof(*w));
}

static void run_retrieve(struct work *work)
{
    struct retrieve_work *w = container_of(work, struct retrieve_work, work);
    int error = retrieve_here(w->message.process, (uint32_t)w->message.strategy);

    if (error != 0)
        msg_kept_reply_error(&w->kept, error, answered);
    else
        msg_kept_reply(&w->kept, NULL, 0, answered);
}

static void handle_retrieve(const struct msg *m)
{
    struct retrieve_work *w = heap_alloc(sizeof(*w));

    if (w == NULL) {
        msg_reply_error(&m->ticket, -ENOMEM);
        return;
    }
    w->message = *(const struct msg_retrieve *)m->data;
    w->work.run = run_retrieve;
    msg_keep(m, &w->kept, NULL);
    work_submit(&w->work);
}

int retrieve_process(int64_t process, const char *strategy)
{
    uint32_t number = space_strategy_find(strategy);
    uint32_t home;

    if (space_strategy(number) == NULL)
        return -EINVAL;
    if (process == 0)
        process = thread_current()->group->id;
    home = process > 0 && process <= INT32_MAX ? process_home((uint32_t)process) : KERNELS_MAX;
    if (home >= instance.kernels)
        return -ESRCH;
    return home == instance.kernel ? retrieve_here(process, number) : retrieve_at(home, process, number);
}

void retrieve_calls_init(void)
{
    msg_register(MSG_RETRIEVE, handle_retrieve, sizeof(struct msg_retrieve), 0);
}
