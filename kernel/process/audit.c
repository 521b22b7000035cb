/* Audits that a program asks for. See the header.
 *
 * A process is audited by a worker of its home, which lodges in its memory so that it stays. The machine is audited by
 * a worker of kernel 0: it brings all programs to rest, as for the stop of a kernel, and asks each kernel to check what
 * it has. Who asked waits so that only its death ends the wait: then it counts as standing still. */
#include "kernel/process/audit.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/log.h"
#include "kernel/lib/string.h"
#include "kernel/machine/stop.h"
#include "mm/audit/audit.h"
#include "mm/frame/heap.h"
#include "msg/call.h"
#include "tasks/freeze/freeze.h"
#include "tasks/process/group.h"
#include "tasks/process/process.h"
#include "tasks/remote/work.h"

#define ANSWER_MAX 16384u /* bytes of a report that travels */

/* AUDIT */
struct msg_audit {
    int64_t process; /* or AUDIT_MACHINE */
};

/* An audit that a worker does, for a peer (KEPT) or for a task here (DONE). */
struct audit_work {
    struct work work;
    struct msg_kept kept;
    int64_t process;
    bool machine_part; /* of AUDIT_KERNEL: this kernel's part of the machine's */
    struct spinlock lock;
    bool here;              /* [i] a task here asks */
    bool left;              /* [k] lock: that task has died: nobody looks at the report */
    bool over;              /* [k] lock */
    int error;              /* [k] lock: valid once over */
    struct completion done; /* here */
    struct audit_report *report;
};

static struct audit_report *report_create(void)
{
    struct audit_report *report = heap_alloc(ANSWER_MAX);

    if (report != NULL)
        report->room = ANSWER_MAX - (uint32_t)sizeof(*report);
    return report;
}

static struct audit_work *work_create(void (*run)(struct work *work))
{
    struct audit_work *w = heap_alloc(sizeof(*w));

    if (w == NULL)
        return NULL;
    w->report = report_create();
    if (w->report == NULL) {
        heap_free(w, sizeof(*w));
        return NULL;
    }
    w->work.run = run;
    return w;
}

static void work_free(struct audit_work *w)
{
    heap_free(w->report, ANSWER_MAX);
    heap_free(w, sizeof(*w));
}

static void answered(struct msg_kept *kept)
{
    work_free(container_of(kept, struct audit_work, kept));
}

/* A report that came, LENGTH bytes in all at PART, is added to the whole one. */
static int take_report(struct audit_report *whole, const struct audit_report *part, int length)
{
    if (length < 0)
        return length;
    if (length < (int)sizeof(*part) || part->length > (uint32_t)length - sizeof(*part))
        return -EPROTO;
    audit_report_add(whole, part);
    return 0;
}

/* --- a process at home here --- */

static int audit_here(int64_t process, struct audit_report *report)
{
    struct group *group = process > 0 && process <= INT32_MAX ? group_find((uint32_t)process) : NULL;
    struct group *host;
    int error = -ESRCH;

    if (group == NULL)
        return -ESRCH;
    if (group->process != NULL)
        error = group_lodge(group, &host);
    if (error == 0) {
        error = audit_space(host->space, false, report);
        group_leave(host);
    }
    group_put(group);
    return error;
}

/* --- the machine --- */

struct gathering {
    struct audit_report *whole;
    struct audit_report *part; /* ANSWER_MAX bytes */
    int error;
};

static void audit_all(kernel_set running, void *context)
{
    struct gathering *g = context;

    for (; running != 0 && g->error == 0; running &= running - 1) {
        uint32_t k = (uint32_t)__builtin_ctzll(running);

        if (k == instance.kernel)
            g->error = audit_kernel(g->whole);
        else
            g->error = take_report(
                g->whole, g->part,
                msg_call(k, MSG_AUDIT_KERNEL, NULL, 0, g->part, ANSWER_MAX, "a kernel's part of an audit", k));
    }
}

static int audit_machine(struct audit_report *report)
{
    struct gathering g = {.whole = report, .part = report_create()};
    int error = g.part == NULL ? -ENOMEM : stand_still(audit_all, &g);

    heap_free(g.part, ANSWER_MAX);
    return error != 0 ? error : g.error;
}

/* --- the worker --- */

static void run_audit(struct work *work)
{
    struct audit_work *w = container_of(work, struct audit_work, work);
    struct audit_report *report = w->report;
    uint32_t notice = 0;
    bool left;
    int error;

    if (w->machine_part)
        error = freeze_active() ? audit_kernel(report) : -EPROTO;
    else
        error = w->process == AUDIT_MACHINE ? audit_machine(report) : audit_here(w->process, report);
    if (w->here) {
        spin_lock(&w->lock);
        w->error = error;
        w->over = true;
        left = w->left;
        if (!left)
            completion_signal_locked(&w->done, &notice);
        spin_unlock(&w->lock); /* from here on it is the asker's */
        if (left)
            work_free(w);
        else
            completion_notify(notice);
    } else if (error != 0) {
        msg_kept_reply_error(&w->kept, error, answered);
    } else {
        msg_kept_reply_long(&w->kept, report, (uint32_t)sizeof(*report) + report->length, answered);
    }
}

/* A task here has a worker do it, and waits: kernel 0, where the worker has to be one. */
static int have_done(int64_t process, struct audit_report *report)
{
    static const struct wait_reason reason = {.what = "an audit", .kernel = -1};
    struct audit_work *w = work_create(run_audit);
    bool over;
    int error;

    if (w == NULL)
        return -ENOMEM;
    w->process = process;
    w->here = true;
    completion_init(&w->done);
    work_submit(&w->work);
    completion_wait_until(&w->done, &reason, WAIT_KILLABLE, 0);
    spin_lock(&w->lock);
    over = w->over;
    w->left = !over;
    spin_unlock(&w->lock);
    if (!over)
        return -EINTR;
    error = w->error;
    if (error == 0)
        audit_report_add(report, w->report);
    work_free(w);
    return error;
}

static void submit(const struct msg *m, int64_t process, bool machine_part)
{
    struct audit_work *w = work_create(run_audit);

    if (w == NULL) {
        msg_reply_error(&m->ticket, -ENOMEM);
        return;
    }
    w->process = process;
    w->machine_part = machine_part;
    msg_keep(m, &w->kept, NULL);
    work_submit(&w->work);
}

static void handle_audit(const struct msg *m)
{
    const struct msg_audit *message = m->data;

    if (message->process == AUDIT_MACHINE && instance.kernel != 0)
        msg_reply_error(&m->ticket, -EPROTO);
    else
        submit(m, message->process, false);
}

static void handle_kernel(const struct msg *m)
{
    if (m->ticket.kernel != 0)
        msg_reply_error(&m->ticket, -EPROTO);
    else
        submit(m, 0, true);
}

/* --- who asks --- */

static int ask(uint32_t kernel, int64_t process, struct audit_report *report)
{
    static const struct msg_policy policy = {.end = WAIT_KILLABLE};
    struct msg_audit message = {.process = process};
    struct audit_report *part = report_create();
    int length;

    if (part == NULL)
        return -ENOMEM;
    length = msg_call_within(&policy, kernel, MSG_AUDIT, &message, sizeof(message), part, ANSWER_MAX, "an audit",
                             (uint64_t)process);
    length = take_report(report, part, length);
    heap_free(part, ANSWER_MAX);
    return length;
}

static int ask_machine(struct audit_report *report)
{
    for (;;) {
        int error = instance.kernel == 0 ? have_done(AUDIT_MACHINE, report) : ask(0, AUDIT_MACHINE, report);

        if (error != -EAGAIN)
            return error;
        error = stop_wait();
        if (error != 0)
            return error;
    }
}

int audit_process(int64_t process, struct audit_report *report)
{
    const struct group *own = thread_current()->group;
    uint32_t home;

    if (process == AUDIT_MACHINE)
        return ask_machine(report);
    if (process == 0 || process == own->id)
        return audit_space(own->space, false, report);
    home = process > 0 && process <= INT32_MAX ? process_home((uint32_t)process) : KERNELS_MAX;
    if (home >= instance.kernels)
        return -ESRCH;
    return home == instance.kernel ? audit_here(process, report) : ask(home, process, report);
}

void audit_calls_init(void)
{
    msg_register(MSG_AUDIT, handle_audit, sizeof(struct msg_audit), sizeof(struct audit_report));
    msg_register(MSG_AUDIT_KERNEL, handle_kernel, 0, sizeof(struct audit_report));
}
