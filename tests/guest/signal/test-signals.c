/* test-signals: actions, masks and queues of signals; the rest of the table is in the files that signal.h names. */
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/signal/signal.h"

atomic_int signal_count;
siginfo_t signal_last;

void signal_handle(int signal, void (*handler)(int, siginfo_t *, void *), int flags, const sigset_t *mask)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = flags | SA_SIGINFO};

    if (mask != NULL)
        action.sa_mask = *mask;
    MUST(sigaction(signal, &action, NULL));
}

void signal_counts(int signal, siginfo_t *info, void *context)
{
    (void)context;
    signal_last = *info;
    if (info->si_signo != signal)
        signal_last.si_signo = -1;
    atomic_fetch_add(&signal_count, 1);
}

sigset_t signal_set(int signal)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, signal);
    return set;
}

/* --- actions --- */

static void test_action(void)
{
    struct sigaction action = {.sa_flags = SA_RESTART | SA_SIGINFO | SA_NODEFER};
    struct sigaction old;

    action.sa_sigaction = signal_counts;
    action.sa_mask = signal_set(SIGHUP);
    for (int signal = 1; signal <= 64; signal++) {
        if (signal == SIGKILL || signal == SIGSTOP || (signal > 31 && signal < SIGRTMIN))
            continue;
        place_go(signal);
        MUST(sigaction(signal, &action, NULL));
        memset(&old, 0, sizeof(old));
        place_go(signal + 1);
        MUST(sigaction(signal, NULL, &old));
        CHECK(old.sa_sigaction == signal_counts && sigismember(&old.sa_mask, SIGHUP) == 1 &&
                  (old.sa_flags & (SA_RESTART | SA_SIGINFO | SA_NODEFER)) == action.sa_flags,
              "signal %d", signal);
    }
    MUST(sigaction(SIGKILL, NULL, &old));
    CHECK(old.sa_handler == SIG_DFL, "SIGKILL");
    CHECK_ERROR(sigaction(SIGKILL, &action, NULL), EINVAL);
    CHECK_ERROR(sigaction(SIGSTOP, &action, NULL), EINVAL);
    CHECK_ERROR(syscall(SYS_rt_sigaction, 65, NULL, NULL, 8), EINVAL);
    CHECK_ERROR(syscall(SYS_rt_sigaction, 0, NULL, NULL, 8), EINVAL);
    CHECK_ERROR(syscall(SYS_rt_sigaction, SIGHUP, NULL, NULL, 16), EINVAL);
    CHECK_ERROR(syscall(SYS_rt_sigaction, SIGHUP, TAP_UNMAPPED, NULL, 8), EFAULT);
    CHECK_ERROR(syscall(SYS_rt_sigaction, SIGHUP, NULL, TAP_UNMAPPED, 8), EFAULT);
}

/* Default actions, on every place. */
static void test_default(void)
{
    static const int ignored[] = {SIGCHLD, SIGURG, SIGWINCH, SIGCONT};
    static const int deadly[] = {SIGHUP, SIGUSR1, SIGALRM, SIGPIPE, SIGVTALRM, SIGPROF, SIGIO, SIGTERM, 40, 64};

    for (size_t i = 0; i < TAP_COUNT(ignored); i++) {
        place_go((int)i);
        MUST(raise(ignored[i]));
    }
    for (size_t i = 0; i < TAP_COUNT(deadly); i++) {
        pid_t child = FORK();

        if (child == 0) {
            place_go((int)i);
            raise(deadly[i]);
            _exit(1);
        }
        CHECK_DIES(child, deadly[i]);
    }
}

static void test_ignore(void)
{
    sigset_t mask = signal_set(SIGUSR1);
    sigset_t pending;

    signal(SIGUSR1, SIG_IGN);
    for (int i = 0; i < place_few(4); i++) {
        place_go(i);
        MUST(raise(SIGUSR1));
        MUST(kill(getpid(), SIGUSR1));
    }
    /* A pending one goes when it becomes ignored. */
    signal(SIGUSR1, SIG_DFL);
    MUST(sigprocmask(SIG_BLOCK, &mask, NULL));
    MUST(raise(SIGUSR1));
    MUST(kill(getpid(), SIGUSR1));
    MUST(sigpending(&pending));
    CHECK(sigismember(&pending, SIGUSR1) == 1, "not pending");
    signal(SIGUSR1, SIG_IGN);
    MUST(sigpending(&pending));
    CHECK(sigismember(&pending, SIGUSR1) == 0, "still pending");
    signal(SIGUSR1, SIG_DFL);
    MUST(sigprocmask(SIG_UNBLOCK, &mask, NULL));
}

/* --- the time of a handler --- */

static int depth;
static int depth_most;
static char order[64];
static int order_length;

static void handler_nests(int signal, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    if (++depth > depth_most)
        depth_most = depth;
    order[order_length++] = (char)('a' + signal % 26);
    if (order_length < 6)
        raise(signal);
    order[order_length++] = (char)('A' + signal % 26);
    depth--;
}

static void test_defer(void)
{
    signal_handle(SIGUSR1, handler_nests, 0, NULL);
    MUST(raise(SIGUSR1));
    CHECK(depth_most == 1 && depth == 0, "its own signal interrupts a handler: %d deep", depth_most);
    CHECK(order_length == 8, "%d", order_length);
    depth_most = order_length = 0;
    signal_handle(SIGUSR1, handler_nests, SA_NODEFER, NULL);
    place_go(1);
    MUST(raise(SIGUSR1));
    CHECK(depth_most == 6 && depth == 0 && order_length == 12, "with SA_NODEFER %d deep", depth_most);
}

static void test_reset(void)
{
    struct sigaction action;

    for (int i = 0; i < 2 * place_few(8);
         i++) { /* the signal is the thread's own, or lies at the home of its process */
        place_go(i / 2);
        signal_handle(SIGUSR1, signal_counts, (int)SA_RESETHAND, NULL);
        MUST(i % 2 == 0 ? raise(SIGUSR1) : kill(getpid(), SIGUSR1));
        CHECK(atomic_load(&signal_count) == i + 1, "%d", atomic_load(&signal_count));
        MUST(sigaction(SIGUSR1, NULL, &action));
        CHECK(action.sa_handler == SIG_DFL, "the action is not reset");
    }
}

static void handler_raises_other(int signal, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    order[order_length++] = (char)('a' + signal);
    if (signal == SIGHUP)
        raise(SIGINT);
    order[order_length++] = (char)('A' + signal);
}

static void test_sa_mask(void)
{
    sigset_t mask = signal_set(SIGINT);

    /* Not masked: nested. Masked: afterwards. */
    signal_handle(SIGINT, handler_raises_other, 0, NULL);
    signal_handle(SIGHUP, handler_raises_other, 0, NULL);
    MUST(raise(SIGHUP));
    CHECK(memcmp(order, (char[]){'a' + SIGHUP, 'a' + SIGINT, 'A' + SIGINT, 'A' + SIGHUP}, 4) == 0, "order %.4s", order);
    order_length = 0;
    signal_handle(SIGHUP, handler_raises_other, 0, &mask);
    place_go(1);
    MUST(raise(SIGHUP));
    CHECK(memcmp(order, (char[]){'a' + SIGHUP, 'A' + SIGHUP, 'a' + SIGINT, 'A' + SIGINT}, 4) == 0, "order %.4s", order);
}

/* --- masks and pending signals --- */

static void test_mask(void)
{
    sigset_t all;
    sigset_t found;

    sigfillset(&all);
    MUST(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &(uint64_t){~0ul}, NULL, 8));
    for (int i = 0; i < place_few(4); i++) {
        uint64_t mask = 0;

        place_go(i);
        MUST(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, 8));
        CHECK(mask == ~(1ul << (SIGKILL - 1) | 1ul << (SIGSTOP - 1)), "%#lx", mask);
    }
    MUST(syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &(uint64_t){0xf0}, NULL, 8));
    MUST(sigprocmask(SIG_BLOCK, NULL, &found));
    CHECK(sigismember(&found, 4) == 1 && sigismember(&found, 5) == 0 && sigismember(&found, 8) == 0, "SIG_UNBLOCK");
    CHECK_ERROR(syscall(SYS_rt_sigprocmask, 3, &all, NULL, 8), EINVAL);
    CHECK_ERROR(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, 4), EINVAL);
    CHECK_ERROR(syscall(SYS_rt_sigprocmask, SIG_BLOCK, TAP_UNMAPPED, NULL, 8), EFAULT);
    CHECK_ERROR(syscall(SYS_rt_sigpending, TAP_UNMAPPED, 8), EFAULT);
    CHECK_ERROR(syscall(SYS_rt_sigpending, &all, 16), EINVAL);
    /* SIGKILL has no mask. */
    {
        pid_t child = FORK();

        if (child == 0) {
            kill(getpid(), SIGKILL);
            _exit(1);
        }
        CHECK_DIES(child, SIGKILL);
    }
}

static void test_collapse(void)
{
    sigset_t mask = signal_set(SIGUSR1);
    sigset_t pending;

    signal_handle(SIGUSR1, signal_counts, 0, NULL);
    MUST(sigprocmask(SIG_BLOCK, &mask, NULL));
    for (int i = 0; i < 5; i++) {
        place_go(i);
        MUST(kill(getpid(), SIGUSR1));
    }
    CHECK(atomic_load(&signal_count) == 0, "a masked signal is handled");
    MUST(sigpending(&pending));
    CHECK(sigismember(&pending, SIGUSR1) == 1 && sigismember(&pending, SIGUSR2) == 0, "sigpending");
    MUST(sigprocmask(SIG_UNBLOCK, &mask, NULL));
    CHECK(atomic_load(&signal_count) == 1, "%d of 5 equal standard signals", atomic_load(&signal_count));
    /* One of the thread and one of the process are two. */
    MUST(sigprocmask(SIG_BLOCK, &mask, NULL));
    for (int i = 0; i < 3; i++) {
        MUST(kill(getpid(), SIGUSR1));
        MUST(raise(SIGUSR1));
    }
    MUST(sigprocmask(SIG_UNBLOCK, &mask, NULL));
    CHECK(atomic_load(&signal_count) == 3, "%d", atomic_load(&signal_count) - 1);
}

static int values[64];
static int value_signals[64];
static atomic_int value_count;

static void handler_values(int signal, siginfo_t *info, void *context)
{
    int place = atomic_fetch_add(&value_count, 1);

    (void)context;
    if (place < 64) {
        values[place] = info->si_value.sival_int;
        value_signals[place] = signal;
    }
}

/* Real-time signals: all, with their values; the lowest number first, equal ones in the order sent. */
static void test_queue(void)
{
    sigset_t mask;
    int expected = 0;

    sigfillset(&mask);
    for (int k = 0; k < 3; k++)
        signal_handle(SIGRTMIN + k, handler_values, 0, &mask);
    MUST(sigprocmask(SIG_SETMASK, &mask, NULL));
    for (int i = 0; i < 30; i++) {
        union sigval value = {.sival_int = i};

        place_go(i / 7);
        MUST(sigqueue(getpid(), SIGRTMIN + 2 - i % 3, value));
    }
    sigemptyset(&mask);
    MUST(sigprocmask(SIG_SETMASK, &mask, NULL));
    CHECK(atomic_load(&value_count) == 30, "%d of 30 queued signals", atomic_load(&value_count));
    for (int k = 0; k < 3; k++) {
        for (int i = 2 - k; i < 30; i += 3, expected++)
            CHECK(values[expected] == i && value_signals[expected] == SIGRTMIN + k, "number %d is signal %d value %d",
                  expected, value_signals[expected], values[expected]);
    }
}

static const struct tap_test tests[] = {
    {"action", "sigaction returns what was set, for all threads", test_action},
    {"default", "default actions end or do nothing", test_default},
    {"ignore", "ignored signals are discarded", test_ignore},
    {"defer", "a signal waits for its own handler, not with SA_NODEFER", test_defer},
    {"reset", "SA_RESETHAND resets the action, from every place", test_reset},
    {"sa-mask", "a handler's mask defers others", test_sa_mask},
    {"mask", "masks are kept, and SIGKILL is in none", test_mask},
    {"collapse", "a pending standard signal is not queued again", test_collapse},
    {"queue", "real-time signals queue in order with values", test_queue},
    {"info-kill", "the handler of a signal by kill gets its sender, from every place", signal_test_info_kill},
    {"info-queue", "the handler of a signal by sigqueue gets its sender and value", signal_test_info_queue},
    {"info-thread", "the handler of a signal by tkill or tgkill gets SI_TKILL", signal_test_info_thread},
    {"info-child", "the handler of SIGCHLD gets how the child ended", signal_test_info_child},
    {"fault-segv", "the handler of SIGSEGV gets the address and the reason", signal_test_fault_segv},
    {"fault-bus", "the handler of SIGBUS gets the address beyond a file's end", signal_test_fault_bus},
    {"fault-others", "the handlers of SIGFPE, SIGILL and SIGTRAP get the address", signal_test_fault_others},
    {"context", "a handler may change where the program goes on", signal_test_context},
    {"forced", "a fault whose signal is masked or ignored kills the process", signal_test_forced},
    {"altstack", "handlers with SA_ONSTACK run on the alternate stack", signal_test_altstack},
    {"overflow", "a stack overflow is handled on the alternate stack", signal_test_altstack_overflow},
    {"disarm", "SS_AUTODISARM disarms the alternate stack while a handler runs", signal_test_altstack_disarm},
    {"stack-errors", "invalid alternate stacks are refused", signal_test_altstack_errors},
    {"stack-thread", "the alternate stack is the thread's", signal_test_altstack_thread},
    {"longjmp", "siglongjmp can leave a handler", signal_test_longjmp},
    {"migrate", "a handler may move its thread, also nested", signal_test_migrate},
    {"registers-call", "all registers survive a handler after a system call", signal_test_registers_call},
    {"registers-code", "all registers survive handlers that interrupt program code", signal_test_registers_code},
    {"mask-restored", "the mask after a handler is the one before, or what it put into its context",
     signal_test_mask_restored},
    {"restart-read", "SA_RESTART continues a read of a pipe", signal_test_restart_read},
    {"eintr-read", "a read of a pipe is interrupted", signal_test_interrupt_read},
    {"restart-wait", "SA_RESTART continues wait4 and waitid", signal_test_restart_wait},
    {"eintr-wait", "wait4 and waitid are interrupted", signal_test_interrupt_wait},
    {"eintr-sleep", "an interrupted sleep returns the time left", signal_test_interrupt_sleep},
    {"restart-futex", "a futex wait is continued or interrupted", signal_test_restart_futex},
    {"eintr-pause", "pause ends with the handler", signal_test_interrupt_pause},
    {"suspend", "sigsuspend changes the mask and waits in one step", signal_test_suspend},
    {"timedwait", "sigtimedwait takes what is pending, without handlers", signal_test_timedwait},
    {"timedwait-waits", "sigtimedwait waits for a signal or its time", signal_test_timedwait_waits},
    {"timedwait-eintr", "sigtimedwait is interrupted by other handlers", signal_test_timedwait_interrupted},
    {"actions-elsewhere", "a handler that was set on one kernel is the one that runs on another",
     signal_test_actions_elsewhere},
    {"thread-masks", "each thread has its own mask", signal_test_thread_masks},
    {"thread-kill", "threads on all places signal each other", signal_test_thread_kill},
    {"group-any", "a process's signal goes to the thread that does not mask it", signal_test_group_any},
    {"group-later", "a process's signal waits until some thread unmasks it", signal_test_group_later},
    {"storm", "of queued signals between all places none is lost or doubled, and they stay in order",
     signal_test_storm},
    {"stop", "SIGSTOP stops the threads of all places, SIGCONT continues them", signal_test_stop_group},
    {"stop-handled", "SIGCONT continues a process and is handled", signal_test_stop_handled},
    {"stop-cancels", "stop and continue signals cancel each other", signal_test_stop_cancels},
    {"child-stops", "SIGCHLD reports stops and continues, but not with SA_NOCLDSTOP", signal_test_child_stops},
    {"child-ignored", "with SIGCHLD ignored or SA_NOCLDWAIT children leave no zombie", signal_test_child_ignored},
    {"kill-groups", "kill reaches the processes of a group on all places", signal_test_kill_groups},
    {"kill-many", "kill reaches each process of a large group of another place", signal_test_kill_many},
    {"kill-errors", "kill of processes that do not exist is ESRCH", signal_test_kill_errors},
    {"sessions", "setsid makes a session and a group", signal_test_sessions},
    {"group-errors", "setpgid refuses invalid calls", signal_test_group_errors},
    {"alarm", "alarm ends pause and returns the time left", signal_test_alarm},
    {"timer", "setitimer repeats", signal_test_timer},
    {"poll-pending", "a signal that is pending before ppoll and pselect ends them", signal_test_poll_pending},
    {"stop-rest", "signals that were pending with a stop signal are taken after the stop", signal_test_stop_rest},
    {"stop-overtaken", "SIGCONT sent after SIGSTOP leaves no thread stopped", signal_test_stop_overtaken},
    {"stopped-tkill", "SIGCONT and SIGKILL by tkill act on a stopped process", signal_test_stopped_tkill},
    {"chosen-masks", "a signal that the chosen thread masks is taken by another thread", signal_test_chosen_masks},
    {"handler-nowhere", "a handler at no address ends the process", signal_test_handler_nowhere},
    {"altstack-full", "nested handlers do not leave the alternate stack", signal_test_altstack_full},
    {"frame-garbage", "a damaged signal frame harms only its program", signal_test_frame_garbage},
};

static const struct tap_program program = {.tests = tests, .count = TAP_COUNT(tests), .apart = true};

int main(int argc, char **argv)
{
    return tap_main(argc, argv, &program);
}
