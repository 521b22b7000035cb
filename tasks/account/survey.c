/* Surveys of processes and threads: asks all kernels that have a part, and combines the replies. See
 * tasks/account/facts.h.
 *
 * A thread that moves has a replica on every kernel it has been on, so some kernel reports it whenever each is asked.
 * If several kernels report a thread, the replica that is PRESENT is used; without one, the search follows the replica
 * with the most moves to the kernel to which the thread went. */
#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "mm/space/events.h"
#include "tasks/account/internal.h"
#include "tasks/process/call.h"
#include "tasks/remote/operation.h"

#define FOLLOW_MAX 8 /* moves of a thread that are followed; then it is reported as on its way */

int process_ids(struct id_list *list)
{
    uint8_t *bytes = heap_alloc(FACTS_PART_MAX);
    const struct msg_process_listed *part = (const struct msg_process_listed *)(const void *)bytes;
    bool good = bytes != NULL;

    *list = (struct id_list){.ids = NULL};
    for (uint32_t k = 0; k < instance.kernels && good; k++) {
        static const struct remote_how how = {.why = "list of processes"};
        struct msg_process_list ask = {.id = 0};

        do {
            int length = remote_call(k, MSG_PROCESS_LIST, &ask, sizeof(ask), bytes, FACTS_PART_MAX, &how);

            if (length == -ENOMEM)
                good = false;
            if (length < (int)sizeof(*part) || (length - sizeof(*part)) / sizeof(uint32_t) < part->count)
                break; /* the kernel does not run */
            for (uint32_t i = 0; i < part->count && good; i++)
                good = id_list_add(list, ((const uint32_t *)(part + 1))[i]);
            if (part->next <= ask.id)
                break;
            ask.id = part->next;
        } while (good);
    }
    heap_free(bytes, FACTS_PART_MAX);
    if (!good)
        id_list_free(list);
    return good ? 0 : -ENOMEM;
}

int process_facts_of(uint32_t id, struct process_facts *out)
{
    const struct remote_how how = {.why = "facts of a process", .key = id};
    struct msg_process_list ask = {.id = id};
    uint32_t home = process_home(id);
    int length;

    if (id == 0 || home >= instance.kernels)
        return -ESRCH;
    if (id == PROCESS_INIT) { /* kernel 0 itself: see tasks/process/process.h */
        *out = (struct process_facts){
            .id = id, .group = id, .session = id, .threads = 1, .members = 1, .space_home = 0, .name = "init"};
        return 0;
    }
    length = remote_call(home, MSG_PROCESS_FACTS, &ask, sizeof(ask), out, sizeof(*out), &how);
    if (length == -ENOMEM)
        return length;
    if (length != (int)sizeof(*out))
        return -ESRCH;
    out->home = home;
    return 0;
}

/* Asks KERNEL for one part of its data, as *ASK says. OUT has FACTS_PART_MAX bytes; a kernel that does not run has an
 * empty part. */
static int ask_member(uint32_t kernel, const struct msg_member_facts *ask, struct member_facts *out)
{
    const struct remote_how how = {.why = "facts of threads", .key = ask->group};
    int length = remote_call(kernel, MSG_MEMBER_FACTS, ask, sizeof(*ask), out, FACTS_PART_MAX, &how);

    if (length == -ENOMEM)
        return -ENOMEM;
    if (length < (int)sizeof(*out) || (length - sizeof(*out)) / sizeof(struct thread_facts) < out->count)
        memset(out, 0, sizeof(*out));
    return 0;
}

static bool better(const struct thread_facts *a, const struct thread_facts *b)
{
    if ((a->presence == THREAD_PRESENT) != (b->presence == THREAD_PRESENT))
        return a->presence == THREAD_PRESENT;
    return a->moves > b->moves;
}

/* The index of thread TID in the survey, or the index where it is to be inserted. */
static uint32_t place_of(const struct process_survey *survey, uint32_t tid)
{
    uint32_t low = 0, high = survey->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (survey->threads[middle].tid < tid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int add_thread(struct process_survey *survey, const struct thread_facts *thread)
{
    uint32_t at = place_of(survey, thread->tid);

    if (at < survey->count && survey->threads[at].tid == thread->tid) {
        if (better(thread, &survey->threads[at]))
            survey->threads[at] = *thread;
        return 0;
    }
    if (survey->count == survey->room) {
        uint32_t room = survey->room == 0 ? 8 : 2 * survey->room;
        struct thread_facts *more = heap_alloc(room * sizeof(*more));

        if (more == NULL)
            return -ENOMEM;
        if (survey->threads != NULL) {
            memcpy(more, survey->threads, survey->count * sizeof(*more));
            heap_free(survey->threads, survey->room * sizeof(*more));
        }
        survey->threads = more;
        survey->room = room;
    }
    memmove(&survey->threads[at + 1], &survey->threads[at], (survey->count - at) * sizeof(*thread));
    survey->threads[at] = *thread;
    survey->count++;
    return 0;
}

/* Adds all parts of KERNEL's data to the survey. */
static int add_member(struct process_survey *survey, uint32_t kernel, bool threads, struct member_facts *part)
{
    struct msg_member_facts ask = {
        .space = survey->process.space, .group = survey->process.id, .thread = threads ? 0 : THREADS_NONE};
    struct member_facts *member = &survey->members[kernel];
    int error;

    do {
        error = ask_member(kernel, &ask, part);
        if (error == 0 && ask.thread == (threads ? 0 : THREADS_NONE)) {
            *member = *part;
            survey->asked |= 1ull << kernel;
            survey->user_ns += part->user_ns;
            survey->system_ns += part->system_ns;
            account_add(&survey->account, &part->account);
            survey->peak += part->peak;
            survey->resident += part->resident;
            space_stats_add(&survey->stats, &part->stats);
        }
        for (uint32_t i = 0; i < part->count && error == 0; i++)
            error = add_thread(survey, (const struct thread_facts *)(part + 1) + i);
        if (part->next <= ask.thread)
            break;
        ask.thread = part->next;
        ask.space = 0; /* the first part has the data about the memory */
    } while (error == 0);
    return error;
}

static bool thread_at(uint32_t kernel, uint32_t group, uint32_t tid, struct thread_facts *out)
{
    struct msg_member_facts ask = {.group = group, .thread = tid, .one = 1};
    uint8_t *bytes = heap_alloc(FACTS_PART_MAX);
    struct member_facts *part = (struct member_facts *)(void *)bytes;
    bool found;

    if (bytes == NULL)
        return false;
    found = ask_member(kernel, &ask, part) == 0 && part->count > 0;
    if (found)
        memcpy(out, part + 1, sizeof(*out));
    heap_free(bytes, FACTS_PART_MAX);
    return found;
}

/* THREAD comes from a kernel that the thread may have left: follows the thread to its present kernel. */
static void follow(uint32_t group, struct thread_facts *thread)
{
    for (int i = 0; i < FOLLOW_MAX && thread->presence != THREAD_PRESENT && thread->went_to < instance.kernels; i++) {
        struct thread_facts found;

        if (thread_at(thread->went_to, group, thread->tid, &found) && better(&found, thread))
            *thread = found;
    }
    if (thread->presence == THREAD_PRESENT || thread->went_to >= instance.kernels)
        return;
    /* the thread is on its way: reports its last data with the kernel that it moves to */
    for (uint32_t i = 0; i < instance.plan.cpu_count; i++) {
        if (instance.plan.cpus[i].kernel == (int32_t)thread->went_to) {
            thread->cpu = i;
            break;
        }
    }
    thread->kernel = thread->went_to;
}

bool survey_thread(const struct process_facts *process, uint32_t tid, struct thread_facts *out)
{
    uint32_t birth = process_home(tid);

    if (tid == 0 || birth >= instance.kernels || process->id == PROCESS_INIT)
        return false;
    if (!thread_at(birth, process->id, tid, out))
        return false;
    follow(process->id, out);
    return true;
}

void survey_account(uint32_t group, const struct thread_facts *thread, struct account *out)
{
    kernel_set rest = thread->visited & ~(1ull << thread->kernel);

    *out = thread->account;
    for (; rest != 0; rest &= rest - 1) {
        struct thread_facts replica;
        uint32_t kernel = (uint32_t)__builtin_ctzll(rest);

        if (kernel < instance.kernels && thread_at(kernel, group, thread->tid, &replica))
            account_add(out, &replica.account);
    }
}

struct process_survey *survey_process(uint32_t id, bool threads, int *error)
{
    struct process_survey *survey = heap_alloc(sizeof(*survey));
    struct member_facts *part = heap_alloc(FACTS_PART_MAX);
    struct thread_facts first;

    *error = survey == NULL || part == NULL ? -ENOMEM : process_facts_of(id, &survey->process);
    if (*error == 0 && (survey->process.condition == PROCESS_ENDED || id == PROCESS_INIT)) {
        survey->user_ns = survey->process.user_ns;
        survey->system_ns = survey->process.system_ns;
        survey->account = survey->process.account;
    } else if (*error == 0) {
        for (kernel_set rest = survey->process.members; rest != 0 && *error == 0; rest &= rest - 1)
            *error = add_member(survey, (uint32_t)__builtin_ctzll(rest), threads, part);
        if (*error == 0 && !threads && survey_thread(&survey->process, id, &first))
            *error = add_thread(survey, &first);
        for (uint32_t i = 0; i < survey->count; i++)
            follow(id, &survey->threads[i]);
    }
    heap_free(part, FACTS_PART_MAX);
    if (*error == 0 && survey->peak < survey->process.peak)
        survey->peak = survey->process.peak;
    if (*error == 0)
        return survey;
    survey_free(survey);
    return NULL;
}

void survey_free(struct process_survey *survey)
{
    if (survey == NULL)
        return;
    heap_free(survey->threads, survey->room * sizeof(*survey->threads));
    heap_free(survey, sizeof(*survey));
}
