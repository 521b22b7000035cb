/* Kettle's own system calls. libc/kettle.h documents them. */
#include "kernel/calls/machine/kettle.h"
#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/common/path.h"
#include "kernel/file/path.h"
#include "kernel/file/remote.h"
#include "kernel/fs/name/name.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"
#include "kernel/machine/death.h"
#include "kernel/machine/machine.h"
#include "kernel/machine/stop.h"
#include "kernel/process/audit.h"
#include "kernel/process/retrieve.h"
#include "mm/audit/report.h"
#include "mm/frame/heap.h"
#include "mm/lock/lock.h"
#include "mm/user/user_copy.h"
#include "msg/channel.h"
#include "msg/exercise/exercise.h"
#include "msg/exercise/hostile.h"
#include "tasks/migrate/migrate.h"
#include "tasks/process/group.h"
#include "tasks/process/permission.h"
#include "tasks/sched/sched.h"

#define SAMPLES_MAX 512u /* samples of an exercise that are copied to the program at a time */
#define AT_A_TIME 4096u  /* messages of an exercise between two checks whether the caller has been killed */
#define WORDS_MAX 512u
#define AUDIT_TEXT 32768u /* bytes of the largest report, with its header */

/* The thread moves on its way to user mode, so the call's result must be in the frame before: the thread may resume on
 * another kernel. */
int64_t call_kettle_migrate(struct call *c)
{
    struct thread *self = thread_current();
    uint32_t chosen = self->context.chosen;
    int64_t result;

    if ((int32_t)c->a[0] < 0)
        return -EINVAL;
    c->frame->rax = 0;
    c->replaced = true;
    spin_lock(&self->group->lock);
    self->context.chosen = 1; /* what moves with the thread; it is not drawn from now on */
    spin_unlock(&self->group->lock);
    result = migrate_thread((uint32_t)c->a[0]);
    if (result < 0) {
        self->context.chosen = chosen;
        c->frame->rax = (uint64_t)result;
    }
    return 0;
}

int64_t call_kettle_kernel(struct call *c)
{
    (void)c;
    return instance.kernel;
}

int64_t call_kettle_kernels(struct call *c)
{
    (void)c;
    return instance.kernels;
}

int64_t call_kettle_node(struct call *c)
{
    return c->a[0] < instance.kernels ? (int64_t)instance.plan.kernels[c->a[0]].node : -EINVAL;
}

int64_t call_kettle_start(struct call *c)
{
    int64_t result = credentials_need_root();

    if (result != 0)
        return result;
    if (c->a[0] >= instance.kernels)
        return -EINVAL;
    for (;;) {
        result = start_kernels(1ull << c->a[0]);
        if (result != -EAGAIN)
            return result;
        result = stop_wait();
        if (result != 0)
            return result;
    }
}

/* The file is opened so that a FIFO which nobody writes, or a device, lets nobody wait. */
int64_t call_kettle_image(struct call *c)
{
    struct name name = {.directory = NAME_WORKING_DIRECTORY};
    struct name_result opened;
    int64_t result = credentials_need_root();
    char *text;

    if (result != 0)
        return result;
    if ((int32_t)c->a[0] != -1 && c->a[0] >= instance.kernels)
        return -EINVAL;
    text = files_path(c->a[1], &result);
    if (text == NULL)
        return result;
    name.path = text;
    result = name_open(thread_current()->group, &name, OPEN_NONBLOCK, 0, &opened);
    name_result_free(&opened);
    heap_free(text, PATH_MAX);
    if (result != 0)
        return result;
    do {
        result = start_image((int32_t)c->a[0] == -1 ? instance.kernels : (uint32_t)c->a[0], &opened.place);
        if (result == -EAGAIN && stop_wait() != 0)
            result = -EINTR;
    } while (result == -EAGAIN);
    file_drop(opened.place.kernel, opened.place.id);
    return result;
}

/* Waits for the end of the stop TICKET. The stop continues while its caller is interrupted, moves or is quiesced; the
 * wait is resumed by restart_syscall. */
static int64_t wait_for_stop(uint64_t ticket)
{
    struct thread_context *context = &thread_current()->context;
    int64_t result = stop_kernel_result(ticket);

    if (result != -ERESTARTSYS)
        return result;
    context->restart_function = RESTART_STOP;
    context->restart_argument[0] = ticket;
    return -ERESTART_RESTARTBLOCK;
}

int64_t kettle_stop_again(void)
{
    return wait_for_stop(thread_current()->context.restart_argument[0]);
}

/* True, and *RESULT is the call's: BEGUN, which the beginning of the stop TICKET has returned, is no -EAGAIN, or the
 * wait for the other stop ended early. False: it may be begun now. */
static bool has_begun(int begun, uint64_t ticket, int64_t *result)
{
    if (begun == 0)
        *result = wait_for_stop(ticket);
    else if (begun == -EAGAIN)
        *result = stop_wait();
    else
        *result = begun == -EALREADY ? 0 : begun;
    return begun != -EAGAIN || *result != 0;
}

int64_t call_kettle_stop(struct call *c)
{
    uint64_t ticket;
    int64_t result;
    int begun;

    if (credentials_need_root() != 0)
        return -EPERM;
    if (c->a[0] >= instance.kernels)
        return -EINVAL;
    do {
        begun = stop_kernel_begin((uint32_t)c->a[0], &ticket);
    } while (!has_begun(begun, ticket, &result));
    return result;
}

int64_t call_kettle_kill(struct call *c)
{
    uint64_t ticket;
    int64_t result;
    int begun;

    if (credentials_need_root() != 0)
        return -EPERM;
    if (c->a[0] >= instance.kernels || c->a[1] > KETTLE_KILL_HALT)
        return -EINVAL;
    do {
        begun = death_cause((uint32_t)c->a[0], (uint32_t)c->a[1], &ticket);
    } while (!has_begun(begun, ticket, &result));
    return result;
}

int64_t call_kettle_started(struct call *c)
{
    return c->a[0] < instance.kernels ? msg_peer_started((uint32_t)c->a[0]) : -EINVAL;
}

/* Plays a hostile kernel. */
static int64_t run_hostile(const struct kettle_messages *asked)
{
    kernel_set plan = instance.kernels == 64 ? ~0ull : (1ull << instance.kernels) - 1;
    struct hostile hostile = {.kernels = asked->kernels & plan & ~(1ull << instance.kernel),
                              .seed = asked->seed,
                              .victim = asked->size,
                              .type = (int32_t)asked->urgent - 1};
    int64_t result = credentials_need_root();

    if (result != 0)
        return result;
    for (kernel_set rest = hostile.kernels; rest != 0; rest &= rest - 1) {
        if (!msg_peer_started((uint32_t)__builtin_ctzll(rest)))
            return -EAGAIN;
    }
    if (hostile.kernels == 0)
        return -EINVAL;
    for (uint32_t i = 0; i < asked->count && result == 0; i++) {
        result = hostile_send(&hostile, i);
        sched_breathe();
        if (thread_dying(thread_current()))
            result = -EINTR;
    }
    return result;
}

static int64_t run_exercise(const struct kettle_messages *asked, const struct exercise *exercise, uint64_t *samples)
{
    int64_t result = 0;
    uint32_t done = 0;

    while (done < asked->count && result == 0) {
        uint32_t most = samples != NULL ? SAMPLES_MAX : AT_A_TIME;
        uint32_t some = asked->count - done < most ? asked->count - done : most;

        result = exercise_run(exercise, done, some, samples);
        sched_breathe();
        if (result == 0 && samples != NULL &&
            user_write((uint64_t)(asked->samples + done), samples, some * sizeof(samples[0])) != 0)
            result = -EFAULT;
        if (result == 0 && thread_dying(thread_current()))
            result = -EINTR;
        done += some;
    }
    return result == 0 && asked->operation == KETTLE_MESSAGES_ONE_WAY ? exercise_flush(exercise) : result;
}

int64_t call_kettle_messages(struct call *c)
{
    struct kettle_messages asked;
    struct exercise exercise;
    uint64_t *samples = NULL;
    int64_t result;

    if (user_read(&asked, c->a[0], sizeof(asked)) != 0)
        return -EFAULT;
    if (asked.operation == KETTLE_MESSAGES_HOSTILE)
        return run_hostile(&asked);
    exercise = (struct exercise){.operation = asked.operation,
                                 .size = asked.size,
                                 .kernels = asked.kernels,
                                 .urgent = asked.urgent != 0,
                                 .seed = asked.seed,
                                 .stream = thread_current()->tid};
    if (asked.count == 0 || asked.count > INT32_MAX || asked.urgent > 1)
        return -EINVAL;
    result = exercise_check(&exercise);
    if (result != 0)
        return result;
    if (asked.samples != NULL) {
        samples = heap_alloc(SAMPLES_MAX * sizeof(samples[0]));
        if (samples == NULL)
            return -ENOMEM;
    }
    result = run_exercise(&asked, &exercise, samples);
    heap_free(samples, SAMPLES_MAX * sizeof(samples[0]));
    return result;
}

int64_t call_kettle_tally(struct call *c)
{
    struct kettle_tally tally;

    if (c->a[0] >= instance.kernels)
        return -EINVAL;
    exercise_tally((uint32_t)c->a[0], &tally);
    return user_write(c->a[1], &tally, sizeof(tally)) != 0 ? -EFAULT : 0;
}

int64_t call_kettle_control(struct call *c)
{
    char words[WORDS_MAX];
    int64_t length = user_read_string(words, c->a[0], sizeof(words));

    if (length < 0)
        return length == -ENAMETOOLONG ? -EINVAL : length;
    return credentials_need_root() != 0 ? -EPERM : control_everywhere(words);
}

/* Checks whether the caller may inspect and control PROCESS (0: its own; negative: all). Another process must belong to
 * the caller's user unless the caller is root; only root may name all. -ESRCH, -EPERM. */
static int64_t may_look_after(int32_t process)
{
    if (process < 0)
        return credentials_need_root();
    return process == 0 ? 0 : credentials_may_reach((uint32_t)process, false);
}

/* Changes the process a[0] by SET to what the string a[1] names. */
static int64_t set_by_name(const struct call *c, int (*set)(int64_t process, const char *name))
{
    char name[32];
    int64_t length = user_read_string(name, c->a[1], sizeof(name));

    if (length < 0)
        return length == -ENAMETOOLONG ? -EINVAL : length;
    length = may_look_after((int32_t)c->a[0]);
    if (length != 0)
        return length;
    return set((int32_t)c->a[0], name);
}

int64_t call_kettle_retrieve(struct call *c)
{
    return set_by_name(c, retrieve_process);
}

int64_t call_kettle_numa(struct call *c)
{
    return set_by_name(c, numa_process);
}

static bool is_pages(const struct call *c)
{
    return (c->a[0] & (PAGE_SIZE - 1)) == 0 && (c->a[1] & (PAGE_SIZE - 1)) == 0 && c->a[1] != 0 &&
           user_range(c->a[0], c->a[1]);
}

int64_t call_kettle_replicate(struct call *c)
{
    return is_pages(c) ? replicate_own(c->a[0], c->a[0] + c->a[1]) : -EINVAL;
}

int64_t call_kettle_lock(struct call *c)
{
    if (!is_pages(c))
        return -EINVAL;
    return space_lock_once(group_space(thread_current()->group), c->a[0], c->a[0] + c->a[1]);
}

/* Writes REPORT to user address TO. The first line says how much was checked, so that an audit that has checked nothing
 * is noticed. Only an audit of the MACHINE checks the counts of frames. */
static int64_t write_audit(uint64_t to, uint64_t size, const struct audit_report *report, bool machine)
{
    const struct audit_counts *counts = &report->counts;
    char line[256], frames[40] = "counts of frames not looked at";
    uint64_t length, rest;

    if (machine)
        snprintf(frames, sizeof(frames), "%lu frames", (unsigned long)counts->frames);
    length = (uint64_t)snprintf(
        line, sizeof(line), "%lu violations (%lu told): %lu spaces, %lu areas, %lu pages in %lu entries, %s\n",
        (unsigned long)counts->violations, (unsigned long)counts->notified, (unsigned long)counts->spaces,
        (unsigned long)counts->areas, (unsigned long)counts->pages, (unsigned long)counts->entries, frames);
    if (size == 0)
        return 0;
    length = length < size - 1 ? length : size - 1;
    rest = report->length < size - 1 - length ? report->length : size - 1 - length;
    if (user_write(to, line, length) != 0 || user_write(to + length, report->text, rest) != 0 ||
        user_write(to + length + rest, "", 1) != 0)
        return -EFAULT;
    return 0;
}

int64_t call_kettle_audit(struct call *c)
{
    int64_t result = may_look_after((int32_t)c->a[0]);
    struct audit_report *report;

    if (result != 0)
        return result;
    report = heap_alloc(AUDIT_TEXT);
    if (report == NULL)
        return -ENOMEM;
    report->room = AUDIT_TEXT - (uint32_t)sizeof(*report);
    result = audit_process((int32_t)c->a[0], report);
    if (result == 0)
        result = write_audit(c->a[1], c->a[2], report, (int32_t)c->a[0] < 0);
    if (result == 0)
        result = report->counts.violations < INT32_MAX ? (int64_t)report->counts.violations : INT32_MAX;
    heap_free(report, AUDIT_TEXT);
    return result;
}
