/* getpriority(2) and setpriority(2), of one thread, of the processes of a process group, or of those of a user. The
 * processes are looked up on all kernels, one after the other. */
#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/process/policy.h"
#include "msg/slice.h"
#include "tasks/account/facts.h"
#include "tasks/locate/locate.h"
#include "tasks/process/call.h"
#include "tasks/sched/fair/fair.h"
#include "tasks/thread/thread.h"

enum { PRIO_PROCESS, PRIO_PGRP, PRIO_USER };

/* *VALUE: 40 for the least nice thread to 1, which the C library converts back. */
static int64_t get_nice(uint32_t tid, int32_t *value)
{
    struct msg_thread_call call = {.type = MSG_THREAD_GET_POLICY};
    struct msg_thread_result result;
    int64_t error = sched_with_thread(tid, &call, &result);

    *value = 20 - result.policy.nice;
    return error;
}

static int64_t set_nice(uint32_t tid, int32_t nice)
{
    struct msg_thread_call call = {.type = MSG_THREAD_SET_NICE};
    struct msg_thread_result result;
    int64_t error;

    call.nice.nice = nice;
    call.nice.user = thread_current()->context.credentials.euid;
    error = sched_with_thread(tid, &call, &result);
    if (error != -EACCES)
        return error;
    call.nice.limit = sched_limit_of(tid, LIMIT_NICE);
    return call.nice.limit != 0 ? sched_with_thread(tid, &call, &result) : error;
}

/* The threads that a call is for, and what it has found. */
struct priority {
    uint32_t kind, who;
    bool sets;
    int32_t nice;   /* to set; or the greatest value found */
    int64_t result; /* of the last that was refused; 0: none was; -ESRCH: there is none yet */
};

static void with_one(struct priority *p, uint32_t tid)
{
    int32_t value = 0;
    int64_t error = p->sets ? set_nice(tid, p->nice) : get_nice(tid, &value);

    if (error == -ESRCH)
        return; /* it has ended */
    if (!p->sets && error == 0 && value > p->nice)
        p->nice = value;
    if (error != 0 || p->result == -ESRCH)
        p->result = error;
}

static int64_t with_process(struct priority *p, uint32_t id)
{
    struct process_facts facts;
    struct process_survey *survey;
    int error = process_facts_of(id, &facts);

    if (error != 0)
        return error == -ESRCH ? 0 : error;
    if (facts.condition == PROCESS_ENDED || (p->kind == PRIO_PGRP ? facts.group : facts.ids[0]) != p->who)
        return 0;
    survey = survey_process(id, true, &error);
    if (survey == NULL)
        return error == -ESRCH ? 0 : error;
    for (uint32_t i = 0; i < survey->count; i++) /* also those that move just now */
        with_one(p, survey->threads[i].tid);
    survey_free(survey);
    return 0;
}

static int64_t with_all(struct priority *p)
{
    struct msg_process_call call = {.id = thread_current()->group->id, .type = MSG_PROCESS_GET_GROUP};
    struct msg_process_result result;
    struct id_list list;
    int64_t error;

    p->result = -ESRCH;
    if (p->kind == PRIO_PROCESS) {
        with_one(p, p->who);
        return p->result;
    }
    if (p->who == 0)
        p->who = p->kind == PRIO_PGRP ? (uint32_t)process_call(&call, &result)
                                      : thread_current()->context.credentials.uid;
    error = process_ids(&list);
    if (error != 0)
        return error;
    for (uint32_t i = 0; i < list.count && error == 0; i++) {
        error = with_process(p, list.ids[i]);
        if (slice_check())
            error = -EINTR;
    }
    id_list_free(&list);
    return error != 0 ? error : p->result;
}

int64_t call_setpriority(struct call *c)
{
    struct priority p = {.kind = (uint32_t)c->a[0], .who = (uint32_t)c->a[1], .sets = true, .nice = (int32_t)c->a[2]};

    if (c->a[0] > PRIO_USER)
        return -EINVAL;
    if (p.nice < FAIR_NICE_MIN)
        p.nice = FAIR_NICE_MIN;
    if (p.nice > FAIR_NICE_MAX)
        p.nice = FAIR_NICE_MAX;
    return with_all(&p);
}

int64_t call_getpriority(struct call *c)
{
    struct priority p = {.kind = (uint32_t)c->a[0], .who = (uint32_t)c->a[1]};
    int64_t error;

    if (c->a[0] > PRIO_USER)
        return -EINVAL;
    error = with_all(&p);
    return error != 0 ? error : p.nice;
}
