/* Sends a change of a process's retrieval strategy, or of its policy of numa=, to the home of its address space. See
 * the header. */
#include "kernel/process/retrieve.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/retrieve/strategy.h"
#include "mm/seen/choice.h"
#include "tasks/process/group.h"
#include "tasks/process/process.h"
#include "tasks/remote/operation.h"
#include "tasks/thread/thread.h"

enum { CHANGE_STRATEGY, CHANGE_NUMA };

/* RETRIEVE */
struct msg_retrieve {
    int64_t process;
    uint32_t what; /* CHANGE_* */
    uint32_t to;   /* the number of the strategy, see space_strategy; or struct space: numa */
};

struct msg_retrieved {
    uint32_t process; /* 0: it is done; else: nothing is, ask for this process */
    uint32_t home;    /* this kernel */
};

/* A worker that serves this waits for no other one, so the caller asks again if the memory is another process's. */
static int ask(uint32_t home, int64_t process, uint32_t what, uint32_t to)
{
    struct remote_how how = {.why = "change of retrieval", .key = (uint64_t)process, .end = WAIT_KILLABLE};
    struct msg_retrieve message = {.process = process, .what = what, .to = to};
    struct msg_retrieved next = {.process = 0};
    int length = remote_call(home, MSG_RETRIEVE, &message, sizeof(message), &next, sizeof(next), &how);

    if (length == (int)sizeof(next) && next.process != 0) { /* a host has no host itself */
        message.process = next.process;
        next.process = 0;
        length = remote_call(next.home, MSG_RETRIEVE, &message, sizeof(message), &next, sizeof(next), &how);
    }
    if (length < 0)
        return length;
    return length == (int)sizeof(next) && next.process == 0 ? 0 : -ESRCH;
}

/* At the home of SPACE. */
static int change(struct space *space, uint32_t what, uint32_t to)
{
    return what == CHANGE_STRATEGY ? space_retrieve_switch(space, to)
           : what == CHANGE_NUMA   ? space_numa_switch(space, to)
                                   : -EINVAL;
}

/* Runs on the home of the process. A child of vfork uses its parent's address space, whose home may be another kernel;
 * the caller is then told to ask there. */
static int run(const struct remote_request *request, void *result)
{
    const struct msg_retrieve *asked = request->data;
    int64_t process = asked->process;
    struct group *group = process > 0 && process <= INT32_MAX ? group_find((uint32_t)process) : NULL;
    struct msg_retrieved *next = result;
    struct group *host;
    int error = -ESRCH;

    *next = (struct msg_retrieved){.process = 0};
    if (group == NULL)
        return -ESRCH;
    if (group->process != NULL)
        error = group_pin(group, &host);
    if (error == 0) {
        if (host->space->home == instance.kernel)
            error = change(host->space, asked->what, asked->to);
        else
            *next = (struct msg_retrieved){host->id, host->space->home};
        group_unpin(host);
    }
    group_put(group);
    return error < 0 ? error : (int)sizeof(*next);
}

static int ask_home(int64_t process, uint32_t what, uint32_t to)
{
    uint32_t home;

    if (process == 0)
        process = thread_current()->group->id;
    home = process > 0 && process <= INT32_MAX ? process_home((uint32_t)process) : KERNELS_MAX;
    return home < instance.kernels ? ask(home, process, what, to) : -ESRCH;
}

int retrieve_process(int64_t process, const char *strategy)
{
    uint32_t number = space_strategy_find(strategy);

    return space_strategy(number) != NULL ? ask_home(process, CHANGE_STRATEGY, number) : -EINVAL;
}

int numa_process(int64_t process, const char *policy)
{
    uint32_t choice = seen_choice_of(policy);

    return choice != SEEN_NO_CHOICE ? ask_home(process, CHANGE_NUMA, choice) : -EINVAL;
}

void retrieve_calls_init(void)
{
    REMOTE_SERVE_TASK(RETRIEVE, WORK_LOCKS, run, NULL, struct msg_retrieve, struct msg_retrieved);
}
