/* Changing options on every running kernel.
 *
 * Kernel 0 decides: a worker there makes one change after the other, first on kernel 0, which checks it, and then on
 * all others. So all kernels see all changes in the same order, and agree when the last one has been made. The worker
 * goes on when the caller is killed.
 *
 * | CONTROL comes to | from a task anywhere, no change under way | another change under way | from kernel 0 |
 * |---|---|---|---|
 * | kernel 0 | changed here, then on each other kernel; answered | waits for that one | as from any |
 * | another kernel | refused: EPROTO | refused: EPROTO | changed here; answered |
 *
 * A kernel that dies meanwhile is left out; one that starts has the options of the boot. */
#include "boot/options/control.h"
#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "kernel/machine/machine.h"
#include "msg/request/call.h"
#include "tasks/remote/operation.h"
#include "tasks/sched/waitq.h"

/* Surely: alloc=0, after which there is memory again, has to reach a kernel that has none. There the worker's request
 * is in memory that is kept for what nobody can do without (tasks/remote/operation.c). */
static const struct remote_how how = {.why = "change of options", .sure = true};

/* On kernel 0. */
static struct spinlock lock;
static struct waitq over; /* [k] lock: the workers with a change that waits for another */
static bool changing;     /* [k] lock */

static void begin(void)
{
    static const struct wait_reason reason = {.what = "another change of options", .kernel = 0};

    spin_lock(&lock);
    while (changing)
        waitq_wait(&over, &lock, &reason, WAIT_FIRM, 0);
    changing = true;
    spin_unlock(&lock);
}

static void end(void)
{
    spin_lock(&lock);
    changing = false;
    waitq_wake_all(&over);
    spin_unlock(&lock);
}

static int change_all(const char *words)
{
    int error = option_control(words);

    for (kernel_set rest = error == 0 ? msg_peers_reachable() : 0; rest != 0; rest &= rest - 1) {
        uint32_t kernel = (uint32_t)__builtin_ctzll(rest);
        int answer = remote_call(kernel, MSG_CONTROL, words, (uint32_t)strlen(words) + 1, NULL, 0, &how);

        if (answer < 0 && error == 0 && msg_peer_reachable(kernel))
            error = answer;
    }
    return error;
}

/* A worker runs this, because the change of an option may wait for handlers to end. */
static int run(const struct remote_request *request, void *result)
{
    const char *words = request->data;
    int error;

    (void)result;
    if (request->length == 0 || words[request->length - 1] != '\0' || (instance.kernel != 0 && request->kernel != 0))
        return -EPROTO;
    if (instance.kernel != 0)
        return option_control(words);
    begin();
    error = change_all(words);
    end();
    return error;
}

void control_init(void)
{
    waitq_init(&over);
    REMOTE_SERVE_TASK(CONTROL, instance.kernel == 0 ? WORK_PROGRAMS : WORK_LEAF, run, NULL, struct msg_none,
                      struct msg_none);
    remote_serve_short(MSG_CONTROL, REMOTE_RESERVE); /* alloc=0 */
}

int control_everywhere(const char *words)
{
    int answer = remote_call(0, MSG_CONTROL, words, (uint32_t)strlen(words) + 1, NULL, 0, &how);

    return answer < 0 ? answer : 0;
}
