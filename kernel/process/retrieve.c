/* Sends a change of a process's retrieval strategy, or of its policy of numa=, and the replication of its pages, to
 * the home of its address space. See the header. */
#include "kernel/process/retrieve.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/replicate/replicate.h"
#include "mm/retrieve/strategy.h"
#include "mm/seen/choice.h"
#include "tasks/process/group.h"
#include "tasks/process/process.h"
#include "tasks/remote/operation.h"
#include "tasks/thread/thread.h"

enum { CHANGE_STRATEGY, CHANGE_NUMA, CHANGE_REPLICATE };

/* RETRIEVE */
struct msg_retrieve {
    int64_t process;
    uint32_t what;       /* CHANGE_* */
    uint32_t to;         /* the number of the strategy, see space_strategy; or struct space: numa */
    uint64_t start, end; /* CHANGE_REPLICATE: whole pages */
};
struct msg_retrieved {
    int64_t value;    /* CHANGE_REPLICATE: how many pages are replicated; else 0 */
    uint64_t next;    /* CHANGE_REPLICATE: where to continue, END when all is done */
    uint32_t process; /* 0: it is done; else: nothing is, ask for this process */
    uint32_t home;    /* this kernel */
};

/* A worker that serves this waits for no other one, so the caller asks again if the memory is another process's. */
static int64_t ask(uint32_t home, struct msg_retrieve message, uint64_t *next)
{
    const struct remote_how how = {
        .why = "change of retrieval", .key = (uint64_t)message.process, .end = WAIT_KILLABLE};
    struct msg_retrieved answer = {0};
    int length = remote_call(home, MSG_RETRIEVE, &message, sizeof(message), &answer, sizeof(answer), &how);

    if (length > 0 && answer.process != 0) { /* a host has no host itself */
        home = answer.home;
        message.process = answer.process;
        answer = (struct msg_retrieved){0};
        length = remote_call(home, MSG_RETRIEVE, &message, sizeof(message), &answer, sizeof(answer), &how);
    }
    *next = answer.next;
    if (length < 0)
        return length;
    return answer.process == 0 ? answer.value : -ESRCH;
}

static bool is_range(const struct msg_retrieve *asked)
{
    return ((asked->start | asked->end) & (PAGE_SIZE - 1)) == 0 && asked->start <= asked->end && asked->end <= USER_END;
}

/* At the home of SPACE. */
static int64_t change(struct space *space, const struct msg_retrieve *asked, uint64_t *next)
{
    switch (asked->what) {
    case CHANGE_STRATEGY:
        return space_retrieve_switch(space, asked->to);
    case CHANGE_NUMA:
        return space_numa_switch(space, asked->to);
    case CHANGE_REPLICATE:
        *next = asked->start;
        return is_range(asked) ? space_replicate(space, next, asked->end, false) : -EINVAL;
    default:
        return -EINVAL;
    }
}

/* Runs on the home of the process. A child of vfork uses its parent's address space, whose home may be another kernel;
 * the caller is then told to ask there. */
static int run(const struct remote_request *request, void *result)
{
    const struct msg_retrieve *asked = request->data;
    struct group *group = asked->process > 0 && asked->process <= INT32_MAX ? group_find((uint32_t)asked->process)
                                                                            : NULL;
    struct msg_retrieved *answer = result;
    struct group *host = NULL;
    int64_t value = -ESRCH;

    *answer = (struct msg_retrieved){0};
    if (group == NULL)
        return -ESRCH;
    if (group->process != NULL)
        value = group_pin(group, &host);
    if (value == 0) {
        if (host->space->home == instance.kernel) {
            value = change(host->space, asked, &answer->next);
        } else {
            answer->process = host->id;
            answer->home = host->space->home;
        }
        group_unpin(host);
    }
    group_put(group);
    if (value < 0)
        return (int)value;
    answer->value = value;
    return sizeof(*answer);
}

static int64_t ask_home(struct msg_retrieve asked, uint64_t *next)
{
    uint32_t home;

    if (asked.process == 0)
        asked.process = thread_current()->group->id;
    home = asked.process > 0 && asked.process <= INT32_MAX ? process_home((uint32_t)asked.process) : KERNELS_MAX;
    return home < instance.kernels ? ask(home, asked, next) : -ESRCH;
}

int retrieve_process(int64_t process, const char *strategy)
{
    uint32_t number = space_strategy_find(strategy);
    uint64_t next;

    if (space_strategy(number) == NULL)
        return -EINVAL;
    return (int)ask_home((struct msg_retrieve){process, CHANGE_STRATEGY, number, 0, 0}, &next);
}

int numa_process(int64_t process, const char *policy)
{
    uint32_t choice = seen_choice_of(policy);
    uint64_t next;

    if (choice == SEEN_NO_CHOICE)
        return -EINVAL;
    return (int)ask_home((struct msg_retrieve){process, CHANGE_NUMA, choice, 0, 0}, &next);
}

/* The home does a part at a time, as its work holds up the end of the process. */
int64_t replicate_own(uint64_t start, uint64_t end)
{
    struct msg_retrieve asked = {0, CHANGE_REPLICATE, 0, start, end};
    int64_t done = 0, value;
    uint64_t next = end;

    do {
        value = thread_dying(thread_current()) ? -EINTR : ask_home(asked, &next);
        if (value >= 0 && (next > end || (next <= asked.start && next != end)))
            value = -EPROTO;
        done += value;
        asked.start = next;
    } while (value >= 0 && next < end);
    return value < 0 ? value : done;
}

void retrieve_calls_init(void)
{
    REMOTE_SERVE_TASK(RETRIEVE, WORK_LOCKS, run, NULL, struct msg_retrieve, struct msg_retrieved);
}
