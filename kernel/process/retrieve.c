/* Sends a change of a process's retrieval strategy to the home of its address space. See the header. */
#include "kernel/process/retrieve.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "mm/retrieve/strategy.h"
#include "tasks/process/group.h"
#include "tasks/process/process.h"
#include "tasks/remote/operation.h"
#include "tasks/thread/thread.h"

/* RETRIEVE */
struct msg_retrieve {
    int64_t process;
    uint64_t strategy; /* its number: see space_strategy */
};

static int ask(uint32_t home, int64_t process, uint32_t strategy)
{
    const struct remote_how how = {.why = "change of retrieval", .key = (uint64_t)process, .end = WAIT_KILLABLE};
    struct msg_retrieve message = {.process = process, .strategy = strategy};

    return remote_call(home, MSG_RETRIEVE, &message, sizeof(message), NULL, 0, &how);
}

/* Runs on the home of the process. A child of vfork uses its parent's address space, whose home may be another kernel;
 * the request is then passed on. */
static int run(const struct remote_request *request, void *result)
{
    int64_t process = ((const struct msg_retrieve *)request->data)->process;
    uint32_t strategy = (uint32_t)((const struct msg_retrieve *)request->data)->strategy;
    struct group *group = process > 0 && process <= INT32_MAX ? group_find((uint32_t)process) : NULL;
    struct group *host;
    int error = -ESRCH;

    (void)result;
    if (group == NULL)
        return -ESRCH;
    if (group->process != NULL)
        error = group_pin(group, &host);
    if (error == 0) {
        error = host->space->home == instance.kernel ? space_retrieve_switch(host->space, strategy)
                                                     : ask(host->space->home, host->id, strategy);
        group_unpin(host);
    }
    group_put(group);
    return error;
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
    return home < instance.kernels ? ask(home, process, number) : -ESRCH;
}

void retrieve_calls_init(void)
{
    REMOTE_SERVE(RETRIEVE, run, NULL, struct msg_retrieve, struct msg_none);
}
