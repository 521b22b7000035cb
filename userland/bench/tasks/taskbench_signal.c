/* taskbench: signals: to the thread itself, to another thread that answers with one, and the one that ends a process.
 *
 * Whoever waits for a signal sleeps in sigsuspend and has it blocked else, so none can come between looking and
 * sleeping. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userland/bench/tasks/taskbench.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define WARM_UP 4
#define ASLEEP_NS 500000
#define MASK_BYTES 8 /* of the kernel's signal sets */
#define SIGNAL_BIT(number) (1ul << ((number)-1))

static volatile sig_atomic_t came; /* signals that the first thread has handled */
static volatile sig_atomic_t asked;
static int first_tid;
static int process;

static void count_signal(int number)
{
    (void)number;
    came++;
}

/* Runs in the other thread, which the C library does not know. */
static void answer_signal(int number)
{
    (void)number;
    asked++;
    x86_syscall3(SYS_tgkill, process, first_tid, SIGUSR2);
}

static int handler_set(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};

    return sigaction(number, &action, NULL) == 0 ? 0 : bench_failed("sigaction with a handler", errno);
}

static int mask_set(int how, unsigned long mask)
{
    long result = x86_syscall(SYS_rt_sigprocmask, how, (long)&mask, 0, MASK_BYTES, 0, 0);

    return result == 0 ? 0 : bench_failed("rt_sigprocmask", (int)-result);
}

/* Waits in the kernel with MASK blocked until a handler has run. */
static int suspend(unsigned long mask)
{
    long result = x86_syscall3(SYS_rt_sigsuspend, (long)&mask, MASK_BYTES, 0);

    return result == -EINTR ? 0 : bench_failed("rt_sigsuspend", (int)-result);
}

/* COUNT signals to the process, whose only thread that takes them is the caller. AGAIN: the handler is set again before
 * each, outside of what is measured. */
static int process_signals(uint32_t count, bool again)
{
    int error = handler_set(SIGUSR1, count_signal);
    long id = x86_syscall0(SYS_getpid);

    if (error == 0)
        error = mask_set(SIG_UNBLOCK, SIGNAL_BIT(SIGUSR1));
    for (uint32_t i = 0; i < count + WARM_UP && error == 0; i++) {
        sig_atomic_t before = came;
        long result;

        if (again)
            error = handler_set(SIGUSR1, count_signal);
        if (error != 0)
            break;
        if (i >= WARM_UP)
            bench_begin();
        result = x86_syscall3(SYS_kill, id, SIGUSR1, 0);
        while (result == 0 && came == before)
            x86_pause();
        if (i >= WARM_UP)
            bench_end();
        if (result != 0)
            error = bench_failed("kill", (int)-result);
    }
    return error;
}

int taskbench_run_signal_process(const struct taskbench_case *bench, uint32_t count)
{
    (void)bench;
    return process_signals(count, false);
}

int taskbench_run_signal_fresh(const struct taskbench_case *bench, uint32_t count)
{
    (void)bench;
    return process_signals(count, true);
}

int taskbench_run_signal_self(const struct taskbench_case *bench, uint32_t count)
{
    int error = handler_set(SIGUSR1, count_signal);
    long self = x86_syscall0(SYS_gettid);
    long id = x86_syscall0(SYS_getpid);

    (void)bench;
    if (error == 0)
        error = mask_set(SIG_UNBLOCK, SIGNAL_BIT(SIGUSR1));
    for (uint32_t i = 0; i < count + WARM_UP && error == 0; i++) {
        sig_atomic_t before = came;
        long result;

        if (i >= WARM_UP)
            bench_begin();
        result = x86_syscall3(SYS_tgkill, id, self, SIGUSR1);
        if (i >= WARM_UP)
            bench_end();
        if (result != 0)
            error = bench_failed("tgkill", (int)-result);
        else if (came != before + 1)
            error = bench_failed("a signal to the thread itself", EPROTO);
    }
    return error;
}

/* thread->result becomes 1 when it is there, or a negative errno. SIGUSR1 is blocked but in sigsuspend. Ends when it
 * has answered as often as it will be asked. */
static void answerer_main(struct thread *thread)
{
    int error = thread->index == 0 ? 0 : bench_move(HOW_USUAL, thread->index);
    const uint32_t *questions = thread->argument;

    atomic_store(&thread->result, error == 0 ? 1 : -error);
    while (error == 0 && (uint32_t)asked < *questions)
        error = suspend(0);
}

/* One signal there and one back. */
static int reply_once(int tid)
{
    sig_atomic_t before = came;
    long result = x86_syscall3(SYS_tgkill, process, tid, SIGUSR1);
    int error = result == 0 ? 0 : bench_failed("tgkill", (int)-result);

    while (error == 0 && came == before)
        error = suspend(SIGNAL_BIT(SIGUSR1));
    return error;
}

static int replies(struct thread *thread, uint32_t count)
{
    int error = 0;

    while (atomic_load(&thread->result) == 0)
        bench_rest(ASLEEP_NS);
    if (atomic_load(&thread->result) < 0)
        return bench_failed("a thread's move", (int)-atomic_load(&thread->result));
    for (uint32_t i = 0; i < count && error == 0; i++) {
        bench_rest(ASLEEP_NS); /* for the other thread to fall asleep */
        if (i >= WARM_UP)
            bench_begin();
        error = reply_once(thread->tid_first);
        if (i >= WARM_UP)
            bench_end();
    }
    return error;
}

int taskbench_run_signal_reply(const struct taskbench_case *bench, uint32_t count)
{
    uint32_t questions = count + WARM_UP;
    struct thread thread = {.index = bench_place_of(bench->where), .argument = &questions};
    int error = handler_set(SIGUSR1, answer_signal);

    asked = 0;
    first_tid = (int)x86_syscall0(SYS_gettid);
    process = (int)x86_syscall0(SYS_getpid);
    if (error == 0)
        error = handler_set(SIGUSR2, count_signal);
    if (error == 0)
        error = mask_set(SIG_BLOCK, SIGNAL_BIT(SIGUSR1) | SIGNAL_BIT(SIGUSR2));
    if (error == 0) { /* a signal that is there already: whether this kernel can wait at all */
        x86_syscall3(SYS_tgkill, process, first_tid, SIGUSR2);
        error = suspend(SIGNAL_BIT(SIGUSR1));
    }
    if (error != 0)
        return error;
    if (!thread_start(&thread, answerer_main))
        return bench_failed("clone", errno);
    error = replies(&thread, questions);
    return error != 0 || thread_join(&thread) ? error : bench_failed("ending a thread", ETIMEDOUT);
}

/* Starts a child that sleeps at PLACE, and waits for its word that it is there. */
static int sleeper_start(int place, pid_t *child)
{
    char text[16];
    const char *const words[] = {"wait", text, NULL};
    int error = 0;

    taskbench_places_print(place, place, text, sizeof(text));
    came = 0;
    *child = taskbench_child_start(words, &error);
    while (error == 0 && came == 0) {
        error = suspend(0);
        if (error == 0 && waitpid(*child, NULL, WNOHANG) != 0)
            error = bench_failed("a child at its place", EPROTO);
    }
    return error;
}

static void wake(int number)
{
    (void)number;
}

/* From kill to the return of waitpid. SIGCHLD wakes the wait for the child's word, too, so that a child that ends early
 * is noticed. */
int taskbench_run_kill_wait(const struct taskbench_case *bench, uint32_t count)
{
    int error = handler_set(SIGUSR1, count_signal);

    if (error == 0)
        error = handler_set(SIGCHLD, wake);
    if (error == 0)
        error = mask_set(SIG_BLOCK, SIGNAL_BIT(SIGUSR1) | SIGNAL_BIT(SIGCHLD));
    for (uint32_t i = 0; i < count && error == 0; i++) {
        pid_t child;
        int status = 0;

        error = sleeper_start(bench_place_of(bench->where), &child);
        if (error != 0)
            break;
        bench_rest(ASLEEP_NS); /* for the child to fall asleep */
        bench_begin();
        if (kill(child, SIGKILL) != 0)
            error = bench_failed("kill", errno);
        else
            error = taskbench_wait(child, &status);
        bench_end();
        if (error == 0 && (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL))
            error = bench_failed("a child's death by SIGKILL", EPROTO);
    }
    if (error == 0)
        error = handler_set(SIGCHLD, SIG_DFL);
    return error != 0 ? error : mask_set(SIG_UNBLOCK, SIGNAL_BIT(SIGCHLD));
}
