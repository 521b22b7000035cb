/* test-signals: signals that were lost once, and frames that no handler made. Each test is named after what went wrong.
 */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/signal/signal.h"

#define PAGE 4096
#define ROUNDS 200
#define FRAMES 48

struct lost {
    atomic_int ready, first, second, steps, done;
};

static struct lost *lost;

static pid_t stopped_child(pid_t child)
{
    int status;

    tap_await("a child to stop");
    MUST(waitpid(child, &status, WUNTRACED));
    tap_await(NULL);
    CHECK(WIFSTOPPED(status), "status %x", (unsigned)status);
    return child;
}

/* A signal that is pending before ppoll or pselect lets it in ends the call at once, and once only. */
void signal_test_poll_pending(void)
{
    sigset_t set = signal_set(SIGUSR1), none, found;

    sigemptyset(&none);
    signal_handle(SIGUSR1, signal_counts, 0, NULL);
    MUST(sigprocmask(SIG_BLOCK, &set, NULL));
    for (int i = 0; i < place_few(4); i++) {
        place_go(i);
        for (int k = 0; k < 2; k++) {
            atomic_store(&signal_count, 0);
            MUST(kill(getpid(), SIGUSR1));
            CHECK(atomic_load(&signal_count) == 0, "a masked signal is handled");
            tap_await(k == 0 ? "ppoll to end" : "pselect to end");
            if (k == 0)
                CHECK_ERROR(ppoll(NULL, 0, NULL, &none), EINTR);
            else
                CHECK_ERROR(pselect(0, NULL, NULL, NULL, NULL, &none), EINTR);
            tap_await(NULL);
            CHECK(atomic_load(&signal_count) == 1, "%d signals", atomic_load(&signal_count));
            MUST(sigprocmask(SIG_BLOCK, NULL, &found));
            CHECK(sigismember(&found, SIGUSR1) == 1, "the mask is not back");
        }
    }
}

static void handler_first(int signal)
{
    (void)signal;
    atomic_fetch_add(&lost->first, 1);
}

/* What was pending with a stop signal is taken after the stop. */
void signal_test_stop_rest(void)
{
    lost = tap_share(PAGE);
    for (int i = 0; i < place_few(4); i++) {
        pid_t child = FORK();

        atomic_store(&lost->first, 0);
        if (child == 0) {
            sigset_t set = signal_set(SIGTSTP);

            signal(SIGRTMIN + 1, handler_first);
            sigaddset(&set, SIGRTMIN + 1);
            MUST(sigprocmask(SIG_BLOCK, &set, NULL));
            place_go(i);
            MUST(kill(getpid(), SIGTSTP));
            MUST(kill(getpid(), SIGRTMIN + 1));
            MUST(sigprocmask(SIG_UNBLOCK, &set, NULL));
            _exit(atomic_load(&lost->first));
        }
        stopped_child(child);
        CHECK(atomic_load(&lost->first) == 0, "handled before the stop");
        MUST(kill(child, SIGCONT));
        CHECK_EXITS(child, 1);
    }
}

/* SIGCONT right behind SIGSTOP, while the stop is on its way through the kernels. */
void signal_test_stop_overtaken(void)
{
    lost = tap_share(PAGE);
    for (int i = 0; i < place_few(4); i++) {
        pid_t child = FORK();

        if (child == 0) {
            place_go(i);
            while (atomic_load(&lost->done) == i) {
                atomic_fetch_add(&lost->steps, 1);
                sched_yield();
            }
            _exit(0);
        }
        for (int k = 0; k < ROUNDS; k++) {
            int before = atomic_load(&lost->steps);

            MUST(kill(child, SIGSTOP));
            for (int w = 0; w < k % 8; w++)
                sched_yield();
            MUST(kill(child, SIGCONT));
            UNTIL(atomic_load(&lost->steps) > before + 1, "a continued child to go on");
        }
        atomic_fetch_add(&lost->done, 1);
        CHECK_EXITS(child, 0);
    }
}

/* SIGCONT and SIGKILL that are sent to a thread act on its process. */
void signal_test_stopped_tkill(void)
{
    lost = tap_share(PAGE);
    for (int i = 0; i < place_few(4); i++) {
        pid_t child = FORK();

        if (child == 0) {
            place_go(i);
            for (;;) {
                atomic_fetch_add(&lost->steps, 1);
                sched_yield();
            }
        }
        UNTIL(atomic_load(&lost->steps) > 0, "the child");
        MUST(syscall(SYS_tkill, child, SIGSTOP));
        stopped_child(child);
        atomic_store(&lost->steps, 0);
        MUST(syscall(SYS_tgkill, child, child, SIGCONT));
        UNTIL(atomic_load(&lost->steps) > 0, "a continued child");
        MUST(kill(child, SIGSTOP));
        stopped_child(child);
        MUST(syscall(SYS_tkill, child, SIGKILL));
        CHECK_DIES(child, SIGKILL);
        atomic_store(&lost->steps, 0);
    }
}

static void handler_waits(int signal)
{
    (void)signal;
    atomic_store(&lost->first, 1);
    UNTIL(atomic_load(&lost->second) == 1, "another thread to take what this handler masks");
}

static void handler_second(int signal)
{
    (void)signal;
    atomic_store(&lost->second, 1);
}

static void *second_thread(void *argument)
{
    sigset_t set = signal_set(SIGUSR1);

    pthread_sigmask(SIG_BLOCK, &set, NULL);
    place_go(*(const int *)argument);
    atomic_store(&lost->ready, 1);
    while (atomic_load(&lost->second) == 0)
        sched_yield();
    return NULL;
}

static _Noreturn void chosen_process(int place)
{
    sigset_t mask = signal_set(SIGUSR2);
    struct sigaction waits = {.sa_handler = handler_waits, .sa_mask = mask};
    pthread_t second;

    MUST(sigaction(SIGUSR1, &waits, NULL));
    signal(SIGUSR2, handler_second);
    REQUIRE(pthread_create(&second, NULL, second_thread, &place) == 0, "no thread");
    while (atomic_load(&lost->second) == 0)
        sched_yield();
    pthread_join(second, NULL);
    _exit(0);
}

/* A thread is chosen for two signals; the handler of the first masks the second, which another thread takes. */
void signal_test_chosen_masks(void)
{
    lost = tap_share(PAGE);
    for (int i = 0; i < place_few(4); i++) {
        pid_t child = FORK();

        if (child == 0)
            chosen_process(i);
        UNTIL(atomic_load(&lost->ready) == 1, "two threads");
        MUST(kill(child, SIGSTOP));
        stopped_child(child);
        MUST(kill(child, SIGUSR1));
        MUST(kill(child, SIGUSR2));
        MUST(kill(child, SIGCONT));
        CHECK_EXITS(child, 0);
        memset(lost, 0, sizeof(*lost));
    }
}

/* --- frames --- */

/* A handler where nothing can be. */
void signal_test_handler_nowhere(void)
{
    static const uintptr_t addresses[] = {0x800000000000, 0x8000000000000000, 0xffffffff80000000, 0x7ffffffff000, 2};

    for (size_t i = 0; i < TAP_COUNT(addresses); i++) {
        pid_t child = FORK();

        if (child == 0) {
            struct sigaction action = {.sa_flags = SA_ONSTACK};

            memcpy(&action.sa_handler, &addresses[i], sizeof(addresses[i]));
            MUST(sigaction(SIGUSR1, &action, NULL));
            raise(SIGUSR1);
            _exit(0);
        }
        CHECK_DIES(child, SIGSEGV);
    }
}

static void handler_nests(int signal)
{
    raise(signal);
}

/* Nested handlers end the process when the alternate stack is full; what lies below it is not theirs. */
void signal_test_altstack_full(void)
{
    uint8_t *memory = tap_share((size_t)8 * PAGE);
    pid_t child = FORK();

    if (child == 0) {
        stack_t stack = {.ss_sp = memory + (size_t)4 * PAGE, .ss_size = (size_t)4 * PAGE};
        struct sigaction action = {.sa_handler = handler_nests, .sa_flags = SA_ONSTACK | SA_NODEFER};

        MUST(sigaltstack(&stack, NULL));
        MUST(sigaction(SIGUSR1, &action, NULL));
        raise(SIGUSR1);
        _exit(0);
    }
    CHECK_DIES(child, SIGSEGV);
    for (size_t i = 0; i < (size_t)4 * PAGE; i++) {
        if (!CHECK(memory[i] == 0, "byte %zu below the alternate stack is %x", i, memory[i]))
            break;
    }
}

static unsigned frame_seed;

static uint64_t some_word(void)
{
    static const uint64_t words[] = {0, ~0ull, 1ull << 63, 1ull << 47, 0x23, 0x08, 0x10, 0x3000, 0x20000, 0x4100};
    uint64_t random = (uint64_t)rand_r(&frame_seed) << 32 ^ (uint64_t)rand_r(&frame_seed) << 8;

    return random % 3 == 0 ? random : words[random % TAP_COUNT(words)];
}

static void handler_garbles(int signal, siginfo_t *info, void *context)
{
    ucontext_t *user = context;
    greg_t *registers = user->uc_mcontext.gregs;

    (void)signal;
    (void)info;
    switch (frame_seed % 4) {
    case 0: /* the FPU state */
        for (int i = 0; i < 4; i++)
            ((uint8_t *)user->uc_mcontext.fpregs)[(unsigned)rand_r(&frame_seed) % 832] = (uint8_t)some_word();
        break;
    case 1: /* where it is */
        registers[REG_RIP + 6] = (greg_t)some_word();
        user->uc_mcontext.fpregs = (void *)(uintptr_t)some_word();
        break;
    case 2: /* flags and selectors */
        registers[REG_EFL] = (greg_t)some_word();
        registers[REG_CSGSFS] = (greg_t)some_word();
        break;
    default:
        for (int i = 0; i < 4; i++)
            registers[(unsigned)rand_r(&frame_seed) % NGREG] = (greg_t)some_word();
        user->uc_stack.ss_sp = (void *)(uintptr_t)some_word();
        user->uc_stack.ss_size = some_word();
        user->uc_link = (void *)(uintptr_t)some_word();
        break;
    }
}

/* Frames that a program has garbled end it or not, and nothing else: the kernel goes on, and the flags that a program
 * may not set are not set. */
void signal_test_frame_garbage(void)
{
    for (unsigned i = 0; i < FRAMES; i++) {
        pid_t child = FORK();
        int status;

        if (child == 0) {
            struct sigaction action = {.sa_sigaction = handler_garbles, .sa_flags = SA_SIGINFO};
            uint64_t flags;

            frame_seed = i;
            MUST(sigaction(SIGUSR1, &action, NULL));
            if (i % 8 < 4)
                place_go((int)i);
            syscall(SYS_tkill, syscall(SYS_gettid), SIGUSR1);
            __asm__ volatile("pushfq; popq %0" : "=r"(flags));
            _exit((flags & 0x3200) == 0x200 ? 0 : 1); /* IOPL, IF */
        }
        tap_await("a child with a garbled frame");
        MUST(waitpid(child, &status, 0));
        tap_await(NULL);
        CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) != 1, "a program has set flags of the kernel");
    }
}
