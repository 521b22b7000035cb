/* Job control at the caller. See the header. */
#include "kernel/tty/job.h"

#include "kernel/abi/errno.h"
#include "kernel/abi/signal.h"
#include "kernel/file/anonymous.h"
#include "kernel/file/remote.h"
#include "kernel/lib/string.h"
#include "kernel/tty/tty.h"
#include "tasks/family/session.h"
#include "tasks/family/set.h"
#include "tasks/process/call.h"
#include "tasks/process/process.h"
#include "tasks/remote/operation.h"
#include "tasks/signal/action.h"
#include "tasks/signal/signal.h"
#include "tasks/thread/thread.h"

uint32_t job_group(void)
{
    const struct process *process = thread_current()->group->process; /* NULL except at the home */

    return process != NULL ? __atomic_load_n(&process->process_group, __ATOMIC_RELAXED) : TTY_ASK;
}

static uint32_t ask_home(enum msg_type type)
{
    struct msg_process_call call = {.id = thread_current()->group->id, .type = type};
    struct msg_process_result result;
    int64_t value = process_call_surely(&call, &result);

    return value > 0 ? (uint32_t)value : 0;
}

/* The current thread does not take SIGNAL, or its process ignores it. */
static bool refuses(uint32_t signal)
{
    struct thread *thread = thread_current();
    struct signal_action action;

    return (thread->context.signal_mask & SIGNAL_BIT(signal)) != 0 ||
           (process_action(thread->group, signal, NULL, &action) == 0 && action.handler == SIG_IGN);
}

int64_t job_check(uint32_t *asked, const struct file_answer *answer, uint32_t signal)
{
    uint32_t group = ask_home(MSG_PROCESS_GET_GROUP), session = ask_home(MSG_PROCESS_GET_SESSION);
    struct signal_info info = {.signal = signal, .code = SI_KERNEL};
    struct msg_process_group_found found;

    if (session != (uint32_t)answer->seen) {
        *asked = TTY_ANYBODY;
        return 0;
    }
    if (*asked != group) {
        *asked = group;
        return 0;
    }
    if (refuses(signal)) {
        *asked = TTY_ANYBODY;
        return signal == SIGTTIN ? -EIO : 0;
    }
    if (session_is_orphaned(group, session))
        return -EIO;
    process_group_call(MSG_PROCESS_GROUP_SIGNAL, group, 0, &info, &found);
    return -ERESTARTSYS;
}

void job_identity(struct tty_identity *who, uint32_t foreground)
{
    struct msg_process_group_found found = {.count = 0};

    if ((int32_t)foreground > 0)
        process_group_call(MSG_PROCESS_GROUP_FIND, foreground, 0, NULL, &found);
    who->group = ask_home(MSG_PROCESS_GET_GROUP);
    who->session = ask_home(MSG_PROCESS_GET_SESSION);
    who->process = thread_current()->group->id;
    who->root = credentials_root(&thread_current()->context.credentials) ? 1 : 0;
    who->found = found.count;
    who->found_session = found.session;
}

bool job_opens(uint64_t number)
{
    return number == TTY_OWN || number == TTY_MULTIPLEX;
}

int64_t job_open(uint64_t number, uint32_t flags, struct file_place *place)
{
    uint32_t words[2] = {flags & (OPEN_ACCESS | OPEN_NONBLOCK), 0};

    if (credentials_root(&thread_current()->context.credentials))
        words[0] |= number == TTY_OWN ? OPEN_ANYWAY : 0;
    words[1] = number == TTY_OWN ? ask_home(MSG_PROCESS_GET_SESSION) : thread_current()->context.credentials.fsuid;
    return anonymous_make_at(0, number == TTY_OWN ? ANONYMOUS_TERMINAL : ANONYMOUS_PTY, 0, words, sizeof(words), place);
}

void job_opened(const struct file_place *place, uint32_t session, uint32_t flags)
{
    struct file_request request = {.operation = MSG_FILE_CONTROL, .fd = -1, .control.command = TIOC_ADOPT};
    uint64_t data[FILE_CONTROL_MAX / 8] = {0}, result[FILE_CONTROL_MAX / 8];
    struct tty_identity who = {.argument = 0};
    struct file_answer answer;

    if (session != 0 || (flags & OPEN_NO_TERMINAL) != 0 || thread_current()->group == NULL)
        return;
    job_identity(&who, 0);
    if (who.session != who.process)
        return;
    memcpy(data, &who, sizeof(who));
    /* A refusal changes nothing, and the open succeeds all the same. */
    file_call_at(place, &request, data, sizeof(data), result, sizeof(result), &answer);
}

/* Sends TYPE about SESSION to kernel 0; returns the terminal if TYPE asks for it. */
static int64_t ask_terminals(enum msg_type type, uint32_t session)
{
    const struct remote_how how = {.why = "terminal of a session", .key = session, .sure = true};
    const struct msg_session asked = {.session = session};
    struct msg_session_terminal found = {.terminal = 0};
    int length = remote_call(0, type, &asked, sizeof(asked), &found, sizeof(found), &how);

    return length < 0 ? length : found.terminal;
}

void job_session_ended(uint32_t session)
{
    ask_terminals(MSG_SESSION_ENDED, session);
}

int64_t job_terminal(uint32_t session)
{
    return ask_terminals(MSG_SESSION_TERMINAL, session);
}
