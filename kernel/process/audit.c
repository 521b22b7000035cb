/* Audits that a program asks for. See the header.
 *
 * A task of the home audits a process and pins its address space meanwhile. A worker of kernel 0 audits the machine: it
 * quiesces all programs, as for the stop of a kernel, and asks each kernel to check its own state. The caller's wait
 * ends early only if the caller is killed, and a thread in such a wait counts as quiesced. */
#include "kernel/process/audit.h"

#include "kernel/abi/errno.h"
#include "kernel/file/move/references.h"
#include "kernel/instance/instance.h"
#include "kernel/machine/stop.h"
#include "mm/audit/audit.h"
#include "mm/frame/heap.h"
#include "msg/channel.h"
#include "tasks/freeze/freeze.h"
#include "tasks/process/group.h"
#include "tasks/process/process.h"
#include "tasks/remote/operation.h"

#define ANSWER_MAX 16128u /* bytes of a report in a reply */

/* AUDIT */
struct msg_audit {
    int64_t process;
};

static int report_room(const struct remote_request *request)
{
    (void)request;
    return ANSWER_MAX;
}

/* Returns the result of an operation that has filled REPORT: its length, or ERROR. */
static int report_length(int error, const struct audit_report *report)
{
    return error != 0 ? error : (int)(sizeof(*report) + report->length);
}

static struct audit_report *report_begin(void *result)
{
    struct audit_report *report = result;

    *report = (struct audit_report){.room = ANSWER_MAX - (uint32_t)sizeof(*report)};
    return report;
}

/* Asks KERNEL for the audit TYPE and adds its report to WHOLE. */
static int ask(uint32_t kernel, enum msg_type type, const void *data, uint32_t length, struct audit_report *whole)
{
    static const struct remote_how how = {.why = "an audit", .end = WAIT_KILLABLE};
    struct audit_report *part = heap_alloc_unset(ANSWER_MAX);
    int got = part == NULL ? -ENOMEM : remote_call(kernel, type, data, length, part, ANSWER_MAX, &how);
    int error = got < 0 ? got : 0;

    if (got >= 0 && (got < (int)sizeof(*part) || part->length > (uint32_t)got - sizeof(*part)))
        error = -EPROTO;
    if (error == 0)
        audit_report_add(whole, part);
    heap_free(part, ANSWER_MAX);
    return error;
}

/* --- a process, on its home --- */

static int run_process(const struct remote_request *request, void *result)
{
    int64_t process = ((const struct msg_audit *)request->data)->process;
    struct group *group = process > 0 && process <= INT32_MAX ? group_find((uint32_t)process) : NULL;
    struct audit_report *report = report_begin(result);
    struct group *host;
    int error = -ESRCH;

    if (group == NULL)
        return -ESRCH;
    if (group->process != NULL)
        error = group_pin(group, &host);
    if (error == 0) {
        error = audit_space(host->space, false, report);
        if (error == -EHOSTDOWN) /* a member of it has died, so it ends */
            error = -ESRCH;
        group_unpin(host);
    }
    group_put(group);
    return report_length(error, report);
}

/* --- the machine --- */

static int run_kernel(const struct remote_request *request, void *result)
{
    struct audit_report *report = report_begin(result);
    int error = freeze_active() ? audit_kernel(report) : -EPROTO;

    (void)request;
    if (error == 0)
        error = references_audit(msg_peers_reachable(), report);
    return report_length(error, report);
}

struct gathering {
    struct audit_report *whole;
    int error;
};

static void audit_all(kernel_set running, void *context)
{
    struct gathering *g = context;

    for (; running != 0 && g->error == 0; running &= running - 1)
        g->error = ask((uint32_t)__builtin_ctzll(running), MSG_AUDIT_KERNEL, NULL, 0, g->whole);
    /* One has died: others have got no answer from it, or have not asked it. Again, when that is cleaned up. */
    if (g->error == -EHOSTDOWN || (g->error == 0 && msg_peers_fenced() != 0))
        g->error = -EAGAIN;
}

static int run_all(const struct remote_request *request, void *result)
{
    struct gathering g = {.whole = report_begin(result)};
    int error = quiesce_machine(audit_all, &g);

    (void)request;
    return report_length(error != 0 ? error : g.error, g.whole);
}

/* --- on the kernel of the caller --- */

static int ask_machine(struct audit_report *report)
{
    int error;

    while ((error = ask(0, MSG_AUDIT_ALL, NULL, 0, report)) == -EAGAIN) {
        error = stop_wait();
        if (error != 0)
            return error;
    }
    return error;
}

int audit_process(int64_t process, struct audit_report *report)
{
    const struct group *own = thread_current()->group;
    struct msg_audit message = {process};
    uint32_t home;

    if (process == AUDIT_MACHINE)
        return ask_machine(report);
    if (process == 0 || process == own->id)
        return audit_space(own->space, false, report);
    home = process > 0 && process <= INT32_MAX ? process_home((uint32_t)process) : KERNELS_MAX;
    return home < instance.kernels ? ask(home, MSG_AUDIT, &message, sizeof(message), report) : -ESRCH;
}

void audit_calls_init(void)
{
    REMOTE_SERVE_TASK(AUDIT, WORK_LOCKS, run_process, report_room, struct msg_audit, struct audit_report);
    REMOTE_SERVE_TASK(AUDIT_KERNEL, WORK_LOCKS, run_kernel, report_room, struct msg_none, struct audit_report);
    REMOTE_SERVE_TASK(AUDIT_ALL, WORK_PROGRAMS, run_all, report_room, struct msg_none, struct audit_report);
}
